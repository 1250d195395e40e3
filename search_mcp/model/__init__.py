"""Calls, servers, enumerations and errors, independent of protocol eras."""
