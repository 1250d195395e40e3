"""A browser whose user agrees: `python opener.py URL`"""

import sys
import urllib.request

urllib.request.urlopen(sys.argv[1], timeout=60).close()
