"""What a form sends back: the same characters that it was given, also those that a person is shown as an escape."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from processes.run import server

from page.in_process import page_inside
from search_mcp.page.fields import Field
from search_mcp.page.web import HERE, Form, environment

ODD = "\n a\u202e\x07\u200b\u2028\x85\x9b\"<&'\r\tz "


class Fields(HTMLParser):
    """The names and values of the fields of forms, as a browser reads them."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._area: list[str] | None = None
        self._select = ""
        assert "\r" not in text  # a browser would read a newline
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in ("input", "button") and "name" in given:
            self.found.append((given["name"], given.get("value", "")))
        elif tag == "select":
            self._select = given["name"]
        elif tag == "option":
            self.found.append((self._select, given["value"]))
        elif tag == "textarea":
            self._area = []
            self.found.append((given["name"], ""))

    def handle_data(self, data: str) -> None:
        if self._area is not None:
            self._area.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self._area is not None:
            text = "".join(self._area)
            assert text.startswith("\n")  # a browser drops the first newline
            self.found[-1], self._area = (self.found[-1][0], text[1:]), None


@pytest.mark.parametrize("shape", ["line", "text", "integer", "choice", "lines", "json"])
def test_a_field_of_a_tool(shape: Any) -> None:
    field = Field(ODD, shape, ((ODD, ODD),), "string", is_required=True, about=ODD)
    form = Form(((field.name, ODD),))
    text = environment().get_template("try_field.html").render(field=field, form=form, id="a")
    assert (field.name, ODD) in Fields(text).found


def test_every_value_in_a_template() -> None:
    """Neither the macros nor a view that no other test fills forget one."""
    texts = [path.read_text("utf-8") for path in (HERE / "templates").glob("*.html")]
    found = re.compile(r'(?:value|name)="\{\{ ([^"].*?) \}\}|\{\{ ([^}]*) \}\}</textarea>')
    written = ["".join(each.groups("")) for text in texts for each in found.finditer(text)]
    assert len(written) > 20
    assert [each for each in written if not each.endswith("| exact")] == []


async def test_a_tool_with_a_name_of_odd_characters(tmp_path: Path) -> None:
    tool = "pay\u202e\x07\u200b"
    async with page_inside(tmp_path, {"one": server("has_tools", f"{tool}=Pays.", startup="eager")}) as page:
        await page.sends("start", server="one")
        await page.events("view=server&name=one", lambda parts: "Pays." in parts.get("tools", ""))
        text = (await page.gets("server?name=one")).text
        assert "pay\\u{202e}" in text
        await page.sends("switch-tool", **dict(Fields(text.partition('id="tools"')[2]).found))
        written = json.loads((tmp_path / "servers.json").read_text("utf-8"))
        assert written["mcpServers"]["one"]["tools"] == {"deny": [tool]}
