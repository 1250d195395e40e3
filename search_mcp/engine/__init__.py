"""The process that clients with one configuration share, and the relay of each client to it."""
