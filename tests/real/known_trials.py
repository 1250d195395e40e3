"""What is tried with each server on the list of known servers: calls that change nothing and need no network."""

import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

FILES = "{files}"  # the folder of the files, which has another name in every run


@dataclass(frozen=True)
class Trial:
    """How a server is started, and what it is asked; a server that is asked nothing is only listed."""

    calls: tuple[tuple[str, dict[str, Any]], ...] = ()
    prompts: tuple[tuple[str, dict[str, str]], ...] = ()
    resources: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict[str, str])


def _keys(*names: str, **env: str) -> Trial:
    """Try a server that needs keys and only lists its tools without a network."""
    return Trial(env={**dict.fromkeys(names, "made-up"), **env})


_NOWHERE = "http://127.0.0.1:1"
_AWS = {"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "made-up", "AWS_SECRET_ACCESS_KEY": "made-up"}
_TOKYO = {"source_timezone": "Asia/Tokyo", "time": "12:30", "target_timezone": "Asia/Kolkata"}

TRIALS: Final[Mapping[str, Trial]] = {
    "npm:@aashari/mcp-server-atlassian-jira": _keys(
        "ATLASSIAN_SITE_NAME", "ATLASSIAN_USER_EMAIL", "ATLASSIAN_API_TOKEN"
    ),
    "npm:@amap/amap-maps-mcp-server": _keys("AMAP_MAPS_API_KEY"),
    "npm:@antv/mcp-server-chart": Trial(),
    "npm:@brave/brave-search-mcp-server": _keys("BRAVE_API_KEY"),
    "npm:@circleci/mcp-server-circleci": _keys("CIRCLECI_TOKEN"),
    "npm:@elastic/mcp-server-elasticsearch": _keys("ES_API_KEY", ES_URL=_NOWHERE),
    "npm:@gongrzhe/server-gmail-autoauth-mcp": Trial(env={"GMAIL_OAUTH_PATH": f"{FILES}/keys.json"}),
    "npm:@hubspot/mcp-server": _keys("PRIVATE_APP_ACCESS_TOKEN"),
    "npm:@modelcontextprotocol/server-github": _keys("GITHUB_PERSONAL_ACCESS_TOKEN"),
    "npm:@modelcontextprotocol/server-gitlab": _keys("GITLAB_PERSONAL_ACCESS_TOKEN"),
    "npm:@modelcontextprotocol/server-google-maps": _keys("GOOGLE_MAPS_API_KEY"),
    "npm:@modelcontextprotocol/server-memory": Trial(
        calls=(("read_graph", {}), ("search_nodes", {"query": "✓"})),
        env={"MEMORY_FILE_PATH": f"{FILES}/memory.jsonl"},
    ),
    "npm:@modelcontextprotocol/server-slack": _keys("SLACK_BOT_TOKEN", "SLACK_TEAM_ID"),
    "npm:@notionhq/notion-mcp-server": _keys("NOTION_TOKEN"),
    "npm:@openbnb/mcp-server-airbnb": Trial(),
    "npm:@perplexity-ai/mcp-server": _keys("PERPLEXITY_API_KEY"),
    "npm:@roychri/mcp-server-asana": _keys("ASANA_ACCESS_TOKEN"),
    "npm:@shortcut/mcp": _keys("SHORTCUT_API_TOKEN"),
    "npm:@upstash/context7-mcp": Trial(),
    "npm:@winor30/mcp-server-datadog": _keys("DATADOG_API_KEY", "DATADOG_APP_KEY"),
    "npm:airtable-mcp-server": _keys("AIRTABLE_API_KEY"),
    "npm:argocd-mcp": Trial(args=("stdio",), env={"ARGOCD_BASE_URL": _NOWHERE, "ARGOCD_API_TOKEN": "made-up"}),
    "npm:backlog-mcp-server": _keys("BACKLOG_API_KEY", BACKLOG_DOMAIN="example.backlog.com"),
    "npm:exa-mcp-server": Trial(prompts=(("web_search_help", {}),), resources=("exa://tools/list",)),
    "npm:figma-developer-mcp": Trial(args=("--stdio",), env={"FIGMA_API_KEY": "made-up"}),
    "npm:firecrawl-mcp": _keys("FIRECRAWL_API_KEY"),
    "npm:howtocook-mcp": Trial(
        calls=(
            ("mcp_howtocook_getRecipeById", {"query": "清蒸鲈鱼"}),
            ("mcp_howtocook_getRecipesByCategory", {"category": "饮品"}),
        )
    ),
    "npm:server-perplexity-ask": _keys("PERPLEXITY_API_KEY"),
    "npm:tavily-mcp": _keys("TAVILY_API_KEY"),
    "pypi:alpaca-mcp-server": _keys("ALPACA_API_KEY", "ALPACA_SECRET_KEY"),
    "pypi:analytics-mcp": Trial(),
    "pypi:awslabs-aws-documentation-mcp-server": Trial(
        calls=(("read_documentation", {"url": "https://example.com/a.html"}),)
    ),
    "pypi:awslabs-aws-pricing-mcp-server": Trial(
        calls=(("analyze_terraform_project", {"project_path": FILES}), ("get_bedrock_patterns", {})), env=_AWS
    ),
    "pypi:awslabs-cloudwatch-mcp-server": Trial(env=_AWS),
    "pypi:elasticsearch-mcp-server": Trial(env={"ELASTICSEARCH_HOSTS": _NOWHERE}),
    "pypi:excel-mcp-server": Trial(
        calls=(
            ("describe_workbook", {"path": f"{FILES}/book.xlsx"}),
            ("read_range", {"path": f"{FILES}/book.xlsx", "sheet": "One", "range": "A1"}),
        ),
        args=("stdio",),
    ),
    "pypi:markitdown-mcp": Trial(
        calls=(
            ("convert_to_markdown", {"uri": f"file://{FILES}/text.txt"}),
            ("convert_to_markdown", {"uri": "data:text/html,<h1>one</h1>"}),
        )
    ),
    "pypi:mcp-atlassian": Trial(
        calls=(("jira_search", {}),),
        env={"JIRA_URL": _NOWHERE, "JIRA_USERNAME": "made-up", "JIRA_API_TOKEN": "made-up"},
    ),
    "pypi:mcp-neo4j-cypher": _keys("NEO4J_USERNAME", "NEO4J_PASSWORD", NEO4J_URL="bolt://127.0.0.1:1"),
    "pypi:mcp-obsidian": _keys("OBSIDIAN_API_KEY"),
    "pypi:mcp-pandoc": Trial(calls=(("convert-contents", {"contents": "# one", "output_format": "none"}),)),
    "pypi:mcp-server-calculator": Trial(
        calls=(("calculate", {"expression": "2*(3+4)"}), ("calculate", {"expression": "2+x"}))
    ),
    "pypi:mcp-server-fetch": Trial(calls=(("fetch", {"url": _NOWHERE}),)),
    "pypi:mcp-server-git": Trial(
        calls=(
            ("git_log", {"repo_path": FILES}),
            ("git_status", {"repo_path": FILES}),
            ("git_show", {"repo_path": FILES, "revision": "no-such-revision"}),
        )
    ),
    "pypi:mcp-server-time": Trial(
        calls=(("convert_time", _TOKYO), ("convert_time", {**_TOKYO, "source_timezone": "Nowhere"})),
        args=("--local-timezone", "UTC"),
    ),
    "pypi:mcp-yahoo-finance": Trial(calls=(("get_stock_price_by_date", {"symbol": "X", "date": "yesterday"}),)),
    "pypi:mysql-mcp-server": Trial(
        calls=(("execute_sql", {"query": "select 1; select 2"}),),
        env={"MYSQL_HOST": "127.0.0.1", "MYSQL_PORT": "1", "MYSQL_USER": "ann", "MYSQL_PASSWORD": "made-up"},
    ),
    "pypi:office-word-mcp-server": Trial(calls=(("get_document_text", {"filename": f"{FILES}/page.docx"}),)),
    "pypi:web-forager": Trial(calls=(("web_fetch", {"url": "ftp://example.com"}),), args=("serve",)),
}


def make_files(folder: Path) -> None:
    """Make the files that the calls read."""
    (folder / "text.txt").write_text("first\nsecond ✓\n", encoding="utf-8", newline="\n")
    (folder / "main.tf").write_text('resource "aws_lambda_function" "one" {}\n', encoding="utf-8")
    keys = {"installed": {"client_id": "made-up", "client_secret": "made-up"}}
    (folder / "keys.json").write_text(json.dumps(keys), encoding="utf-8")
    entity = {"type": "entity", "name": "Ada", "entityType": "person", "observations": ["wrote ✓"]}
    (folder / "memory.jsonl").write_text(json.dumps(entity, ensure_ascii=False) + "\n", encoding="utf-8")
    words = f'<w:document xmlns:w="{_WORD}"><w:body><w:p><w:r><w:t>forty-two</w:t></w:r></w:p></w:body></w:document>'
    _package(folder / "page.docx", "word/document.xml", "wordprocessingml.document", {"word/document.xml": words})
    sheet = f'<worksheet xmlns="{_SHEET}"><sheetData><row r="1"><c r="A1"><v>42</v></c></row></sheetData></worksheet>'
    sheets = '<sheets><sheet name="One" sheetId="1" r:id="r1"/></sheets>'
    parts = {
        "xl/workbook.xml": f'<workbook xmlns="{_SHEET}" xmlns:r="{_OFFICE}">{sheets}</workbook>',
        "xl/worksheets/sheet1.xml": sheet,
        "xl/_rels/workbook.xml.rels": _relation("worksheet", "worksheets/sheet1.xml"),
    }
    _package(folder / "book.xlsx", "xl/workbook.xml", "spreadsheetml.sheet", parts)


_FORMATS = "http://schemas.openxmlformats.org/"
_OFFICE = f"{_FORMATS}officeDocument/2006/relationships"
_WORD, _SHEET = f"{_FORMATS}wordprocessingml/2006/main", f"{_FORMATS}spreadsheetml/2006/main"


def _package(path: Path, main: str, kind: str, parts: dict[str, str]) -> None:
    """Write an Office file."""
    types = {"rels": "package.relationships", "xml": f"officedocument.{kind}.main"}
    types["sheet"] = "officedocument.spreadsheetml.worksheet"
    of_type = "application/vnd.openxmlformats-{}+xml".format
    content_types = (
        f'<Types xmlns="{_FORMATS}package/2006/content-types">'
        f'<Default Extension="rels" ContentType="{of_type(types["rels"])}"/>'
        f'<Override PartName="/{main}" ContentType="{of_type(types["xml"])}"/>'
        f'<Override PartName="/xl/worksheets/sheet1.xml" ContentType="{of_type(types["sheet"])}"/></Types>'
    )
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in {
            "[Content_Types].xml": content_types,
            "_rels/.rels": _relation("officeDocument", main),
        }.items():
            archive.writestr(name, text)
        for name, text in parts.items():
            archive.writestr(name, text)


def _relation(kind: str, target: str) -> str:
    one = f'<Relationship Id="r1" Type="{_OFFICE}/{kind}" Target="{target}"/>'
    return f'<Relationships xmlns="{_FORMATS}package/2006/relationships">{one}</Relationships>'
