"""A client on FastMCP that lists, gets and reads every skill of a server, and prints all as JSON: its arguments."""

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client  # type: ignore[import-not-found]
from fastmcp.client.transports import StdioTransport  # type: ignore[import-not-found]
from fastmcp.skills import SkillsClientExtension  # type: ignore[import-not-found]


def plain(seen: Any) -> Any:
    return seen.model_dump(mode="json", by_alias=True, exclude={"meta"})


async def main(command: str, *arguments: str) -> None:
    seen: dict[str, Any] = {}
    async with Client(StdioTransport(command, [*arguments]), extensions=[SkillsClientExtension()]) as client:
        seen["version"] = client.protocol_version
        seen["skills/list"] = plain(await client.list_skills_mcp())
        for skill in seen["skills/list"]["skills"]:
            seen[f"skills/get {skill['uri']}"] = plain(await client.get_skill_mcp(skill["uri"]))
            for file in skill["resources"]:
                seen[file["uri"]] = [plain(each) for each in await client.read_resource(file["uri"])]
        try:
            await client.get_skill("skill://nothing/SKILL.md")
        except Exception as exc:  # what an SDK makes of an error is its own affair
            seen["unknown"] = exc.error.code if hasattr(exc, "error") else str(exc)
    sys.stdout.write(json.dumps(seen))


asyncio.run(main(*sys.argv[1:]))
