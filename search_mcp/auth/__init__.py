"""Logins of remote servers: the steps of OAuth, the store of tokens, and the requests that get and renew them."""
