"""The methods, keys, versions and codes of the protocol, and the values of `model` that they stand for.

Source: schema/<revision>/schema.ts of the specification.
"""

from typing import Final

from search_mcp import __version__
from search_mcp.model.names import Action, Ask, Kind

LEGACY: Final = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Revisions opened by `initialize`, newest first."""
MODERN: Final = ("2026-07-28",)
"""Revisions that carry version and capabilities on every request, newest first."""
WITHOUT_LINKS: Final = ("2025-03-26", "2024-11-05")
"""Revisions that have no links to resources in results: a client may refuse a result with one."""
FIRST: Final = "2024-10-07"
"""The revision before the first published one, which the official TypeScript SDK still accepts from servers."""
NOTES: Final = "1.0.0"
"""The version in the first design notes of search-mcp; served as the newest legacy revision."""

# Opening and housekeeping
INITIALIZE: Final = "initialize"
INITIALIZED: Final = "notifications/initialized"
DISCOVER: Final = "server/discover"
PING: Final = "ping"
SET_LEVEL: Final = "logging/setLevel"
LISTEN: Final = "subscriptions/listen"
ACKNOWLEDGED: Final = "notifications/subscriptions/acknowledged"
CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"
MESSAGE: Final = "notifications/message"
UPDATED: Final = "notifications/resources/updated"
ROOTS_CHANGED: Final = "notifications/roots/list_changed"
TASKS_EXTENSION: Final = "io.modelcontextprotocol/tasks"
APPS_EXTENSION: Final = "io.modelcontextprotocol/ui"
SKILLS_EXTENSION: Final = "io.modelcontextprotocol/skills"
DIRECTORY_READ: Final = "directoryRead"  # the only setting of the extension for skills
OFFERED_EXTENSIONS: Final = (APPS_EXTENSION, TASKS_EXTENSION)
"""The extensions of servers that are offered to clients, beside skills: those whose requests can be routed.

"If one party supports an extension but the other does not, the supporting party MUST [...] revert to core protocol
behavior": a client that is not offered an extension does not call its methods, which would be unknown here.
"""
ENDED_TASKS: Final = frozenset({"completed", "failed", "cancelled"})
TASK_STATUS: Final = "notifications/tasks/status"  # the experimental tasks of 2025-11-25
TASK_CHANGED: Final = "notifications/tasks"  # the extension
ELICITATION_COMPLETE: Final = "notifications/elicitation/complete"

LISTS: Final = {
    "tools/list": Kind.TOOLS,
    "prompts/list": Kind.PROMPTS,
    "resources/list": Kind.RESOURCES,
    "resources/templates/list": Kind.TEMPLATES,
    "skills/list": Kind.SKILLS,
}
LIST_METHOD: Final = {kind: method for method, kind in LISTS.items()}
ITEMS_KEY: Final = {
    Kind.TOOLS: "tools",
    Kind.PROMPTS: "prompts",
    Kind.RESOURCES: "resources",
    Kind.TEMPLATES: "resourceTemplates",
    Kind.SKILLS: "skills",
}
ENTRY_KEY: Final = {
    Kind.TOOLS: "name",
    Kind.PROMPTS: "name",
    Kind.RESOURCES: "uri",
    Kind.TEMPLATES: "uriTemplate",
    Kind.SKILLS: "uri",
}
CAPABILITY: Final = {
    Kind.TOOLS: "tools",
    Kind.PROMPTS: "prompts",
    Kind.RESOURCES: "resources",
    Kind.TEMPLATES: "resources",
}
"""The capability for each kind but skills, which are an extension; templates have no capability of their own."""
LIST_CHANGED: Final = {
    "notifications/tools/list_changed": (Kind.TOOLS,),
    "notifications/prompts/list_changed": (Kind.PROMPTS,),
    "notifications/resources/list_changed": (Kind.RESOURCES, Kind.TEMPLATES, Kind.SKILLS),
}
"""The lists that each notification is about. Skills and templates have no notification of their own."""
LIST_CHANGED_METHOD: Final = {kind: method for method, kinds in LIST_CHANGED.items() for kind in kinds}
LISTEN_KEY: Final = {
    Kind.TOOLS: "toolsListChanged",
    Kind.PROMPTS: "promptsListChanged",
    Kind.RESOURCES: "resourcesListChanged",
    Kind.TEMPLATES: "resourcesListChanged",
    Kind.SKILLS: "resourcesListChanged",
}
LISTEN_URIS: Final = "resourceSubscriptions"
ELICITATION_ID: Final = "elicitationId"  # of URL mode, in 2025-11-25 only
LISTEN_TASKS: Final = "taskIds"

TOOLS_CALL: Final = "tools/call"
STRUCTURED: Final = "structuredContent"
COMPLETE: Final = "completion/complete"
TASKS_LIST: Final = "tasks/list"
METHOD: Final = {
    Action.CALL_TOOL: TOOLS_CALL,
    Action.GET_PROMPT: "prompts/get",
    Action.READ_RESOURCE: "resources/read",
    Action.GET_SKILL: "skills/get",
    Action.READ_DIRECTORY: "resources/directory/read",
    Action.COMPLETE_PROMPT: COMPLETE,
    Action.COMPLETE_RESOURCE: COMPLETE,
    Action.SUBSCRIBE: "resources/subscribe",
    Action.UNSUBSCRIBE: "resources/unsubscribe",
    Action.GET_TASK: "tasks/get",
    Action.GET_TASK_RESULT: "tasks/result",
    Action.UPDATE_TASK: "tasks/update",
    Action.CANCEL_TASK: "tasks/cancel",
    Action.LIST_TASKS: TASKS_LIST,
}
TARGETED: Final = {
    TOOLS_CALL: (Action.CALL_TOOL, "name"),
    "prompts/get": (Action.GET_PROMPT, "name"),
    "resources/read": (Action.READ_RESOURCE, "uri"),
    "resources/directory/read": (Action.READ_DIRECTORY, "uri"),
    "resources/subscribe": (Action.SUBSCRIBE, "uri"),
    "resources/unsubscribe": (Action.UNSUBSCRIBE, "uri"),
    "skills/get": (Action.GET_SKILL, "uri"),
    # The experimental tasks of 2025-11-25 (get, result, cancel), and the extension SEP-2663 (get, update, cancel)
    "tasks/get": (Action.GET_TASK, "taskId"),
    "tasks/result": (Action.GET_TASK_RESULT, "taskId"),
    "tasks/update": (Action.UPDATE_TASK, "taskId"),
    "tasks/cancel": (Action.CANCEL_TASK, "taskId"),
}
"""Methods whose target is one parameter; the target of `completion/complete` is in `ref`."""
TARGET_KEY: Final = dict(TARGETED.values())
"""The parameter that names the target of an action."""
REFERENCES: Final = {
    "ref/prompt": (Action.COMPLETE_PROMPT, "name"),
    "ref/resource": (Action.COMPLETE_RESOURCE, "uri"),
}
LEGACY_ONLY: Final = frozenset({"resources/subscribe", "resources/unsubscribe", "tasks/result", TASKS_LIST})
ASKS: Final = {
    "elicitation/create": Ask.ELICIT,
    "sampling/createMessage": Ask.SAMPLE,
    "roots/list": Ask.ROOTS,
}
ASKS_OF_TASKS: Final = {"tasks/get": Ask.TASK, "tasks/result": Ask.TASK_RESULT, "tasks/cancel": Ask.TASK_CANCEL}
"""Requests of a server about a task that the client made of its question: the experimental tasks of 2025-11-25."""
ELICITATION: Final = "elicitation"
ASK_CAPABILITY: Final = {
    Ask.ELICIT: ELICITATION,
    Ask.SAMPLE: "sampling",
    Ask.ROOTS: "roots",
    **dict.fromkeys(ASKS_OF_TASKS.values(), "tasks"),
}
ASK_METHOD: Final = {ask: method for method, ask in (ASKS | ASKS_OF_TASKS).items()}

# Reserved `_meta` keys: each side of a connection sets its own, so they are removed and set again when relayed.
META: Final = "_meta"
PROGRESS_TOKEN: Final = "progressToken"
VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
CLIENT_INFO_KEY: Final = "io.modelcontextprotocol/clientInfo"
SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
SUBSCRIPTION_KEY: Final = "io.modelcontextprotocol/subscriptionId"
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"  # of the experimental tasks; relayed
REQUEST_KEYS: Final = (PROGRESS_TOKEN, VERSION_KEY, CAPABILITIES_KEY, CLIENT_INFO_KEY, LOG_LEVEL_KEY)

# Modern result and request fields
RESULT_TYPE: Final = "resultType"
COMPLETE_TYPE: Final = "complete"
INPUT_REQUIRED: Final = "input_required"
INPUT_REQUESTS: Final = "inputRequests"
INPUT_RESPONSES: Final = "inputResponses"
REQUEST_STATE: Final = "requestState"
TTL: Final = "ttlMs"
CACHE_SCOPE: Final = "cacheScope"

LOG_LEVELS: Final = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

# Error codes beyond JSON-RPC's own
RESOURCE_NOT_FOUND: Final = -32002  # 2025-11-25 and earlier
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022
URL_ELICITATION_REQUIRED: Final = -32042  # 2025-11-25 only

CLIENT_INFO: Final = {"name": "search-mcp", "version": __version__}
"""The client info for backends if the client sent none."""
