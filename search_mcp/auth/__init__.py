"""Logins of remote servers: OAuth as pure steps, the store of tokens, and the requests that renew them."""
