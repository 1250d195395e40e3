"""Times as JSON has them."""

import time


def iso(seconds: float | None) -> str | None:
    """Write seconds since the epoch by ISO 8601, in UTC."""
    return None if seconds is None else time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))
