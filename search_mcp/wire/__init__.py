"""JSON-RPC over byte streams: framing, messages, payloads, and one end of a connection. Knows nothing of MCP."""
