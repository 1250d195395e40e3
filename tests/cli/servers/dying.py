"""A server that complains and exits."""

import sys

sys.exit("no licence found")
