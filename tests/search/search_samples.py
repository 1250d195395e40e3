"""A small hand-made catalogue, similar to real servers."""

from typing import Any

from search_mcp.search import Document, Index


def tool(server: str, name: str, description: str, **parameters: str) -> Document:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {key: {"type": "string", "description": text} for key, text in parameters.items()},
    }
    return Document(f"{server}.{name}", server, name, description, schema, server_description=_SERVERS.get(server, ""))


def index_of(*documents: Document) -> Index:
    index = Index()
    for server in {document.server: None for document in documents}:
        index.add(server, [document for document in documents if document.server == server])
    return index


_SERVERS = {
    "fs": "Access to files and folders of this computer.",
    "git": "Work with a local git repository.",
    "github": "Issues, pull requests and code on GitHub.",
    "slack": "Messages and channels of a Slack workspace.",
    "time": "Clocks and time zones.",
}

TOOLS = (
    tool("fs", "read_file", "Read the complete contents of a file.", path="Where the file is", head="First lines"),
    tool("fs", "write_file", "Create a new file or overwrite an existing one.", path="Where", content="What"),
    tool("fs", "list_directory", "List the entries of a directory.", path="Which directory"),
    tool("fs", "move_file", "Move or rename files and directories.", source="From", destination="To"),
    tool("fs", "searchFiles", "Recursively search for files that match a pattern.", pattern="A glob"),
    tool("git", "git_commit", "Record changes to the repository.", message="The commit message"),
    tool("git", "git_diff_unstaged", "Show changes in the working directory that are not yet staged."),
    tool("git", "git_log", "Show the commit logs.", max_count="How many commits"),
    tool("git", "git_create_branch", "Create a new branch.", branch_name="Its name"),
    tool("github", "create_issue", "Create a new issue in a repository.", title="The title", body="The text"),
    tool("github", "list_issues", "List the issues of a repository.", state="open, closed or all"),
    tool("github", "merge_pull_request", "Merge a pull request.", pull_number="Its number"),
    tool("github", "search_code", "Search code across repositories.", q="What to look for"),
    tool("slack", "post_message", "Post a message to a channel.", channel_id="Where", text="What to say"),
    tool("slack", "list_channels", "List the public channels of the workspace.", limit="How many at most"),
    tool("slack", "add_reaction", "React to a message with an emoji.", reaction="The emoji's name"),
    tool("time", "get_current_time", "Get the current time in a time zone.", timezone="IANA name"),
    tool("time", "convert_time", "Convert a time between time zones.", source_timezone="From", time="HH:MM"),
    tool("maps", "geocode", "Turn an address into coordinates.", address="Street and town"),
    tool("weather", "forecast", "Weather forecast for the coming days.", latitude="North", longitude="East"),
    tool("db", "execute_sql", "Run a SQL statement against the database.", statement="The SQL"),
    tool("web", "take_screenshot", "Capture an image of the current page.", full_page="The whole page"),
    tool("mail", "send_email", "Send an e-mail message.", recipient="To whom", subject="About what"),
    tool("帳簿", "create_invoice", "請求書を作成します。取引先と金額を指定してください。"),
    tool("帳簿", "list_partners", "取引先の一覧を取得します。"),
    tool("배달", "order_pizza", "피자를 주문합니다. 크기와 개수를 지정할 수 있습니다."),
    tool("배달", "track_delivery", "배달 상태를 조회합니다."),
    tool("铁路", "query_tickets", "查询火车票余票信息。", date="出发日期"),
    tool("铁路", "book_hotel", "预订酒店房间。"),
)
