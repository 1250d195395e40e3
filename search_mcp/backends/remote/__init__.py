"""Remote servers: channels over HTTP."""
