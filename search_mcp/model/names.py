"""Enumerations: eras, states of servers, kinds of lists, actions and questions."""

import enum


class _Word(enum.Enum):
    """An enumeration whose members are hashed by identity, which is faster than by name."""

    __hash__ = object.__hash__


class Era(_Word):
    """One of the two protocol generations."""

    LEGACY = "legacy"
    """Starts with `initialize`; requests in both directions."""
    MODERN = "modern"
    """No handshake: every request is self-contained."""

    @property
    def other(self) -> "Era":
        return Era.LEGACY if self is Era.MODERN else Era.MODERN


class State(enum.StrEnum):
    """The state of a server, as code and JSON have it; `model/standing` has the words for people and models."""

    STOPPED = "stopped"
    STARTING = "starting"
    RESTARTING = "restarting"
    """Its process ends, because its files changed or a client asked for it, and it is started again."""
    READY = "ready"
    BACKING_OFF = "backing off"
    """It ended or did not start, and is started again after a delay."""
    FAILED = "failed"
    NEEDS_LOGIN = "needs a login"
    """A remote server whose user is not logged in there."""
    STOPPING = "stopping"
    DISABLED = "disabled"
    """It is switched off in the configuration."""
    HELD = "held"
    """It is not started until the user accepts its command."""
    KNOWN = "known"
    """It does not run, and its lists are cached; for commands."""
    UNKNOWN = "unknown"
    """It does not run, and its lists are not cached; for commands."""


GIVEN_UP = frozenset({State.FAILED, State.NEEDS_LOGIN})
"""States in which a server is not started again before a call needs it."""


class Kind(_Word):
    """A kind of list that a server can have."""

    TOOLS = "tools"
    PROMPTS = "prompts"
    RESOURCES = "resources"
    TEMPLATES = "templates"
    SKILLS = "skills"
    """Directories of instructions for a model, of the extension SEP-2640."""


class Action(_Word):
    """A request of a client to the server that owns its target."""

    CALL_TOOL = "call a tool"
    GET_PROMPT = "get a prompt"
    READ_RESOURCE = "read a resource"
    GET_SKILL = "get a skill"
    READ_DIRECTORY = "read a directory of resources"
    COMPLETE_PROMPT = "complete a prompt's argument"
    COMPLETE_RESOURCE = "complete a resource template's argument"
    SUBSCRIBE = "subscribe to a resource"
    UNSUBSCRIBE = "unsubscribe from a resource"
    GET_TASK = "get a task"
    GET_TASK_RESULT = "get a task's result"
    UPDATE_TASK = "answer what a task asks"
    CANCEL_TASK = "cancel a task"
    LIST_TASKS = "list the tasks"
    FOLLOW_TASK = "hear of a task's changes"
    UNFOLLOW_TASK = "hear no more of a task's changes"


class Ask(_Word):
    """A request of a server to the client."""

    ELICIT = "elicitation"
    SAMPLE = "sampling"
    ROOTS = "roots"
    TASK = "task"
    TASK_RESULT = "task result"
    TASK_CANCEL = "task cancellation"
