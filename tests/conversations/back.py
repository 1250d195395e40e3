"""A scripted server of either era: what a backend is in these conversations.

Opening, lists and log levels are answered by habit, as a well-behaved server does; a test changes a habit with
`on`. Everything else waits for the test to say what the server does.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from conversations.transcript import BackendLog, Said, encode, members
from conversations.words import ECHO, GREET, LEGACY, MODERN, NEWEST_LEGACY, SKILLS, Json

if TYPE_CHECKING:
    from conversations.pair import Pair

LISTS = {
    "tools/list": "tools",
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "skills/list": "skills",
}
DECLARED = (
    "program",
    "revision",
    "is_dual",
    "tools",
    "prompts",
    "resources",
    "templates",
    "skills",
    "reads_directories",
    "logs",
    "completes",
    "instructions",
    "more_capabilities",
    "capabilities",
)
"""Attributes that decide the answers to opening and lists."""
CACHED: Json = {"ttlMs": 0, "cacheScope": "private"}


class FakeChannel:
    """One process of a scripted server, as its supervisor sees it."""

    def __init__(self, back: "Back", on_stdout: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self.back, self.on_stdout, self.on_end = back, on_stdout, on_end
        self.log = BackendLog(back.revision)
        self.pid = 1000 + len(back.channels)
        self.started = back.pair.loop.time()
        self.paused = False
        self.deferrals = 0
        self.ends: list[str] = []
        self.congested = False
        self.stop_seconds = 0.0
        self._code: int | None = None
        self._words = ""

    def write(self, data: bytes) -> None:
        if self._code is None:
            self.back.hear(self, Said(data))

    def exit(self, code: int, words: str) -> None:
        if self._code is None:
            self._code, self._words = code, words
            self.back.pair.loop.call_soon(self.on_end)

    def is_congested(self) -> bool:
        return self.congested

    def defer_reading(self) -> None:
        self.deferrals += 1

    def pause_reading(self) -> None:
        self.paused = True

    def resume_reading(self) -> None:
        self.paused = False

    def stderr_tail(self) -> str:
        return self._words

    def how_it_ended(self) -> str:
        return f"it exited with code {self._code}"

    def has_ended(self) -> bool:
        return self._code is not None

    def has_session(self) -> bool:
        return True

    def describe(self) -> str:
        return f"pid={self.pid}"

    def terminate(self) -> None:
        self.ends.append("terminate")

    def kill(self) -> None:
        self.ends.append("kill")

    async def stop(self) -> None:
        if self.stop_seconds:
            with anyio.CancelScope(shield=True):
                await anyio.sleep(self.stop_seconds)
        self._code = 0 if self._code is None else self._code


Habit = Callable[["Back", Said], None]


def stays_silent(back: "Back", said: Said) -> None:
    """Take the request and never answer it."""


def exits(back: "Back", said: Said) -> None:
    back.exits(1, "unexpected request")


def refuses(code: int, message: str, data: object = None) -> Habit:
    more = {} if data is None else {"data": data}
    return lambda back, said: back.says(id=said.id, error={"code": code, "message": message, **more})


def answers(result: Any) -> Habit:
    return lambda back, said: back.answer(said.id, result)


def leaves_to_the_test(back: "Back", said: Said) -> None:
    back.inbox.append(said)


class Back:
    """One scripted server through all its channels."""

    def __init__(self, pair: "Pair", name: str, revision: str) -> None:
        self.pair, self.name, self.revision = pair, name, revision
        self.program = name  # as it names itself
        self.config: dict[str, Any] = {}
        self.tools: list[Json] = [GREET, ECHO]
        self.prompts: list[Json] = []
        self.resources: list[Json] = []
        self.templates: list[Json] = []
        self.skills: list[Json] | None = None  # it declares the extension only if it has a list, if an empty one
        self.reads_directories = False
        self.logs = False
        self.completes = False
        self.is_dual = False  # a modern server that also takes `initialize`, and is legacy from then on
        self.instructions = ""
        self.more_capabilities: Json = {}
        self.is_unreachable = False  # over HTTP
        self.is_cancelled_by_closing = False  # a cancellation has no words, and so no reason
        self.channels: list[FakeChannel] = []
        self.heard: list[Said] = []
        self.inbox: list[Said] = []
        self.listening: dict[int | str, Json] = {}  # open subscriptions/listen: id -> filter
        self._questions = 0
        self._speaking: FakeChannel | None = None  # with several processes, the one that heard something last
        self._hearers: dict[int, FakeChannel] = {}  # by message
        self._open: list[Served] = []
        self._habits: dict[str, Habit] = {
            "initialize": Back.initializes,
            "server/discover": Back.discovers,
            "notifications/initialized": stays_silent,
            "subscriptions/listen": Back._listen,
            "logging/setLevel": answers({}),
            **dict.fromkeys(LISTS, Back.lists),
        }

    @property
    def is_modern(self) -> bool:
        return self.revision == MODERN

    @property
    def opening(self) -> str:
        """The method that a client of its era opens it by."""
        return "server/discover" if self.is_modern else "initialize"

    @property
    def channel(self) -> FakeChannel:
        assert self.channels, f"{self.name} was not started"
        if self.pair.is_pooled and self._speaking is not None and not self._speaking.has_ended():
            return self._speaking
        return self.channels[-1]

    @property
    def is_running(self) -> bool:
        return any(not channel.has_ended() for channel in self.channels)

    # What it is

    def on(self, method: str, habit: Habit) -> None:
        """From now on react to this method thus."""
        self._habits[method] = habit

    def on_opening(self, habit: Habit) -> None:
        """From now on react to whatever opens it thus."""
        for method in ("initialize", "server/discover"):
            self.on(method, habit)

    def starts_slowly(self, seconds: float) -> None:
        """From now on answer what opens it only when it has run for this long."""

        def later(habit: Habit) -> Habit:
            def act(back: "Back", said: Said) -> None:
                channel = back.channel
                wait = max(0.0, channel.started + seconds - back.pair.loop.time())

                def answer() -> None:
                    if not channel.has_ended():
                        back.speaks_as(channel)
                        habit(back, said)

                back.pair.loop.call_later(wait, answer)

            return act

        self.on("initialize", later(Back.initializes))
        self.on("server/discover", later(Back.discovers))

    def opens_as_usual(self) -> None:
        """From now on react to what opens it as a server of its era does."""
        self.on("initialize", Back.initializes)
        self.on("server/discover", Back.discovers)

    def capabilities(self) -> Json:
        declared: Json = {"tools": {"listChanged": True}}
        if self.prompts:
            declared["prompts"] = {"listChanged": True}
        if self.resources or self.templates or self.skills is not None:
            declared["resources"] = {"listChanged": True, "subscribe": True}
        if self.logs:
            declared["logging"] = {}
        if self.completes:
            declared["completions"] = {}
        if self.skills is not None:
            declared["extensions"] = {SKILLS: {"directoryRead": True} if self.reads_directories else {}}
        return {**declared, **self.more_capabilities}

    def declares_like(self, model: "Back") -> None:
        """Declare and list the same as another server of the same program."""
        for name in DECLARED:
            setattr(self, name, getattr(model, name))

    # What it hears

    async def spawn(self, on_stdout: Callable[[bytes], None], on_end: Callable[[], None]) -> FakeChannel:
        self.channels.append(FakeChannel(self, on_stdout, on_end))
        return self.channels[-1]

    def hear(self, channel: FakeChannel, said: Said) -> None:
        if self.pair.neighbour is not None and self.pair.neighbour.serves(self, channel, said):
            return
        self.pair.transcript.say(self.name, "<", said.line)
        with self.pair.judging():
            channel.log.heard(said)
        self.heard.append(said)
        self._speaking = channel
        self._hearers[id(said)] = channel
        if said.method == "notifications/cancelled" and said.params["requestId"] in self.listening:
            del self.listening[said.params["requestId"]]
            return
        self._habits.get(said.method or "", leaves_to_the_test)(self, said)

    def channel_of(self, said: Said) -> FakeChannel:
        """Return the process that heard a message."""
        return self._hearers[id(said)]

    def speaks_as(self, channel: FakeChannel) -> None:
        """From now on answer as this process, of several."""
        self._speaking = channel

    def methods(self) -> list[str]:
        """The methods of all it heard so far."""
        return [said.method for said in self.heard if said.method is not None]

    def watched(self) -> list[str]:
        """The resources it was asked to tell of, in all it heard so far."""
        uris: list[str] = [said.params["uri"] for said in self.heard if said.method == "resources/subscribe"]
        for said in self.heard:
            if said.method == "subscriptions/listen":
                uris += said.params["notifications"].get("resourceSubscriptions", [])
        return uris

    # What it says

    def says(self, **message: Any) -> None:
        self.says_line(encode({"jsonrpc": "2.0", **message}))

    def says_line(self, line: bytes) -> None:
        """Say anything at all."""
        channel = self.channel
        self.pair.transcript.say(self.name, ">", line)
        said = Said(line)
        nonsense = ValueError, KeyError, TypeError, AttributeError, RecursionError  # it is said on purpose
        with contextlib.suppress(*nonsense):
            channel.log.sent(said.body)
        self.pair.loop.call_soon(channel.on_stdout, line + b"\n")
        self.pair.settle()
        self.pair.lets_neighbour_act()

    def answer(self, identifier: int | str | None, result: Any, **more: Any) -> None:
        """Answer with a result, given as bytes where its exact spelling matters."""
        body = encode(result)
        if self.is_modern and b'"resultType"' not in body:
            kind = encode({"resultType": "complete", **more})[:-1]
            body = kind + (b"," if body.strip() != b"{}" else b"") + body.lstrip()[1:]
        self.says_line(b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (encode(identifier), body))

    def notifies(self, method: str, **params: Any) -> None:
        self.says(method=method, params=params) if params else self.says(method=method)

    def changes(self, what: str) -> None:
        """Say that a list changed: to whom it may concern, or on the stream that asked for it."""
        method = f"notifications/{what}/list_changed"
        if not self.is_modern:
            self.notifies(method)
            return
        key = f"{what}ListChanged"
        for identifier in [each for each, wanted in self.listening.items() if wanted.get(key)]:
            self.notifies(method, _meta={"io.modelcontextprotocol/subscriptionId": identifier})

    def updates(self, uri: str) -> None:
        if not self.is_modern:
            self.notifies("notifications/resources/updated", uri=uri)
            return
        for identifier in [
            each for each, on in self.listening.items() if uri.startswith(tuple(on.get("resourceSubscriptions", [])))
        ]:
            meta = {"io.modelcontextprotocol/subscriptionId": identifier}
            self.notifies("notifications/resources/updated", uri=uri, _meta=meta)

    def exits(self, code: int, words: str = "") -> None:
        self.channel.exit(code, words)
        self.pair.settle()

    # What the test expects and says, of calls

    def receives(self, method: str, /, **params: Any) -> "Served":
        """Expect a request next; these params must be in it, others may."""
        said = self.next()
        assert said.method == method, f"{self.name} expects {method}, hears {said!r}"
        for key, value in params.items():
            assert said.params.get(key) == value, f"{self.name} expects {key}={value!r}, hears {said!r}"
        served = Served(self, said)
        self._open.append(served)
        return served

    def is_called(self, name: str, /, **arguments: Any) -> "Served":
        served = self.receives("tools/call", name=name)
        assert served.said.params.get("arguments", {}) == arguments, f"{self.name} expects {arguments}, {served.said!r}"
        return served

    def hears(self, method: str) -> Said:
        """Expect a notification next."""
        said = self.next()
        assert said.method == method and "id" not in said.body, f"{self.name} expects {method}, hears {said!r}"
        return said

    def hears_nothing(self) -> None:
        assert not self.inbox, f"{self.name} hears {self.inbox}"

    def asks(self, **questions: Json) -> None:
        """In the only call: put questions to the client."""
        self._only().asks(**questions)

    def gets(self, **responses: Any) -> None:
        """In the only call: expect the answers to the questions."""
        self._only().gets(**responses)

    def returns(self, result: Any) -> None:
        self._only().returns(result)

    def fails(self, code: int, message: str, data: object = None) -> None:
        self._only().fails(code, message, data)

    def _only(self) -> "Served":
        if not self._open and self.inbox and self.inbox[0].method is not None:
            self.receives(self.inbox[0].method)
        assert len(self._open) == 1, f"{self.name} has {len(self._open)} open calls: name the one that is meant"
        return self._open[0]

    def next(self) -> Said:
        assert self.inbox, f"{self.name} hears nothing"
        return self.inbox.pop(0)

    # Habits

    def initializes(self, said: Said) -> None:
        if self.is_dual:
            self.revision = NEWEST_LEGACY
        if self.is_modern:
            data = {"supported": [MODERN], "requested": said.params["protocolVersion"]}
            refuses(-32022, f"this server speaks {MODERN} only", data)(self, said)
            return
        asked = said.params["protocolVersion"]
        version = min(asked, self.revision) if asked in LEGACY else self.revision
        self.channel.log.agrees_on(version)
        info = {"name": self.program, "version": "1"}
        answer: Json = {"protocolVersion": version, "capabilities": self.capabilities(), "serverInfo": info}
        self.answer(said.id, {**answer, **({"instructions": self.instructions} if self.instructions else {})})

    def opens(self) -> None:
        """Answer the opening that was left to the test."""
        (self.discovers if self.is_modern else self.initializes)(self.next())
        self.pair.settle()

    def discovers(self, said: Said) -> None:
        if not self.is_modern:
            refuses(-32601, "Method not found")(self, said)
            return
        answer: Json = {"supportedVersions": [MODERN], "capabilities": self.capabilities(), **CACHED}
        self.answer(said.id, {**answer, **({"instructions": self.instructions} if self.instructions else {})})

    def lists(self, said: Said) -> None:
        key = LISTS[said.method or ""]
        entries = {"resourceTemplates": self.templates}.get(key) if key == "resourceTemplates" else getattr(self, key)
        self.answer(said.id, {key: entries, **(CACHED if self.is_modern else {})})

    def _listen(self, said: Said) -> None:
        assert said.id is not None
        self.listening[said.id] = said.params["notifications"]
        meta = {"io.modelcontextprotocol/subscriptionId": said.id}
        self.notifies("notifications/subscriptions/acknowledged", notifications=self.listening[said.id], _meta=meta)


@dataclass
class Served:
    """One request of search-mcp, as the backend that serves it sees it; over several rounds where it asks back."""

    back: Back
    said: Said
    _asked: dict[str, Json] = field(default_factory=dict)
    _rounds: int = 0

    @property
    def token(self) -> int | str:
        token: int | str = self.said.meta["progressToken"]
        return token

    def reports(self, progress: float, **more: Any) -> None:
        self.back.notifies("notifications/progress", progressToken=self.token, progress=progress, **more)

    def returns(self, result: Any) -> None:
        self.back._open.remove(self)
        cached = CACHED if self.said.method in ("resources/read", "skills/get", *LISTS) else {}
        self.back.answer(self.said.id, result, **cached)

    def fails(self, code: int, message: str, data: object = None) -> None:
        self.back._open.remove(self)
        refuses(code, message, data)(self.back, self.said)

    def is_cancelled(self, reason: str | None = None) -> None:
        cancelled = self.back.hears("notifications/cancelled")
        is_reason_told = reason is not None and not self.back.is_cancelled_by_closing
        expected = {"requestId": self.said.id, **({"reason": reason} if is_reason_told else {})}
        assert cancelled.params == expected, f"{self.back.name} expects {expected}, hears {cancelled!r}"
        self.back._open.remove(self)

    def is_over(self) -> None:
        """Take note that no answer is to come: it was given in other words, or nobody wants it."""
        self.back._open.remove(self)

    def asks(self, **questions: Json) -> None:
        """Put questions to the client: as requests of its own, or as this era's unfinished answer."""
        self._asked = questions
        if not self.back.is_modern:
            for key, question in questions.items():
                self.back.says(id=key, **question)
            return
        self._rounds += 1
        self.back.answer(
            self.said.id,
            {"resultType": "input_required", "inputRequests": questions, "requestState": self.state},
        )

    @property
    def state(self) -> str:
        return f'opaque "☃" \\ {self._rounds}'

    def gets(self, **responses: Any) -> None:
        """Expect the answers, byte for byte: as responses, or with the call made again."""
        if self.back.is_modern:
            self.is_repeated(responses)
            return
        for key, response in responses.items():
            said = self.back.next()
            assert said.id == key and said.result is not None, f"{self.back.name} expects the answer to {key}: {said!r}"
            assert members(said.result) == members(encode(response)), f"expected {response!r}, got {said!r}"

    def is_repeated(self, responses: Json | None) -> None:
        """Expect the call again, with these answers and the state as it was."""
        retry = self.back.next()
        before = self.said
        assert retry.method == before.method, f"{self.back.name} expects {before.method} again: {retry!r}"
        assert retry.id != before.id, "the retry is a request of its own"
        again = {key: value for key, value in retry.params.items() if key not in ("inputResponses", "requestState")}
        first = {key: value for key, value in before.params.items() if key not in ("inputResponses", "requestState")}
        again["_meta"], first["_meta"] = ({**each["_meta"], "progressToken": 0} for each in (again, first))
        assert again == first, f"expected the same call again: {retry!r}"
        assert retry.params.get("requestState") == self.state, f"requestState {retry!r}"
        given = retry.params.get("inputResponses")
        assert given == responses, f"{self.back.name} expects the answers {responses!r}: {retry!r}"
        self.said = retry
