"""Serves well, and answers each call with its number among all calls of this process."""

from itertools import count

import well_behaved

numbers = count(1)
well_behaved.serve({"count": lambda _arguments: str(next(numbers))})
