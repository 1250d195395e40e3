"""The record of tool calls."""
