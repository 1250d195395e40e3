"""Bytes to JSON-RPC messages and back: framing, messages, payloads, one end of a connection. No word of MCP."""
