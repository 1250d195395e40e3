"""What is wrong with a configuration, and its JSON Schema: what pydantic knows of the models.

Loaded for a file that is wrong, and by commands for people: pydantic takes longer to load than all that
`serve` needs. What reads a file that is right is the JSON library, by the same models.
"""

from typing import Any

from pydantic import TypeAdapter, ValidationError

from search_mcp import jsonrpc
from search_mcp.jsonc import KeyPath


def first_fault(decoded: object, model: type) -> KeyPath:
    """Give the place of the first fault, by the names of the models' fields."""
    try:
        TypeAdapter(model).validate_json(jsonrpc.encode_bytes(decoded), by_alias=False, by_name=True)
    except ValidationError as exc:
        return exc.errors(include_url=False, include_input=False, include_context=False)[0]["loc"]
    raise AssertionError("pydantic finds no fault where there is one")


def json_schema(model: type) -> dict[str, Any]:
    """Describe a file to editors."""
    return TypeAdapter(model).json_schema()
