"""A server that prints an error and exits."""

import sys

sys.exit("no licence found")
