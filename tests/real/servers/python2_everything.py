"""The Python SDK's example server for all features, over stdio: `python2_everything.py FOLDER`."""

import importlib
import sys

sys.path.insert(0, sys.argv[1])
importlib.import_module("mcp_everything_server.server").mcp.run("stdio")
