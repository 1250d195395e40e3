"""A language model on loopback that follows a script, for clients that talk to a provider over HTTP.

The server speaks four wire formats, one class each. It turns every request of a client into a `Turn`: the tools the
model is offered and the results it reads. The script answers a turn with `Call` or `Say`. Requests that offer no
tools (titles, routing) get a fixed text and are not part of the conversation.
"""

import itertools
import json
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, ClassVar, Self

Json = dict[str, Any]


@dataclass(frozen=True)
class Tool:
    """A tool as the model is offered it.

    `namespace` is set where the wire format has namespaces. Of a deferred tool the model knows only the name, and has
    to load it before it can call it.
    """

    name: str
    description: str = ""
    schema: Json = field(default_factory=dict)
    namespace: str | None = None
    deferred: bool = False


@dataclass(frozen=True)
class Turn:
    """One request of the client: the tools the model is offered and the texts it reads.

    `instructions` is all text that does not answer a call; `results` are the answers to the calls, oldest first.
    """

    tools: tuple[Tool, ...]
    instructions: str
    results: tuple[str, ...]

    def find(self, name: str) -> Tool | None:
        """Return an offered tool by the end of its name, with any prefix and separators of the client."""
        return next((tool for tool in self.tools if folded(tool.name).endswith(folded(name))), None)


@dataclass(frozen=True)
class Call:
    """The model's decision to call a tool."""

    tool: Tool
    arguments: Json


@dataclass(frozen=True)
class Say:
    """The model's decision to end with a text."""

    text: str = "done"


Answer = Call | Say
Script = Callable[[Turn], Answer]


def folded(name: str) -> str:
    """Normalize a name for all clients: letters and digits, with one `_` for every other sequence of characters."""
    return re.sub(r"[^A-Za-z0-9]+", "_", name)


class WireFormat:
    """A provider's format of requests and streamed responses."""

    path: ClassVar[str]
    """Part of the path of every request that generates something."""

    def turn(self, body: Json) -> Turn:
        raise NotImplementedError

    def events(self, answer: Answer, number: int) -> Iterator[tuple[str | None, Json]]:
        """Write an answer as server-sent events, each with its name or none; `number` makes ids unique."""
        raise NotImplementedError

    def ending(self) -> bytes:
        return b""


class ChatCompletions(WireFormat):
    """OpenAI Chat Completions."""

    path = "/chat/completions"

    def turn(self, body: Json) -> Turn:
        functions = [tool["function"] for tool in body.get("tools", [])]
        tools = [Tool(f["name"], f.get("description", ""), f.get("parameters", {})) for f in functions]
        messages = body["messages"]
        results = [text_of(message["content"]) for message in messages if message["role"] == "tool"]
        rest = [text_of(message.get("content")) for message in messages if message["role"] in ("system", "user")]
        return Turn(tuple(tools), "\n".join(rest), tuple(results))

    def events(self, answer: Answer, number: int) -> Iterator[tuple[str | None, Json]]:
        if isinstance(answer, Call):
            function = {"name": answer.tool.name, "arguments": json.dumps(answer.arguments)}
            call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
            yield self._chunk({"role": "assistant", "tool_calls": [call]}, None)
            yield self._chunk({}, "tool_calls")
        else:
            yield self._chunk({"role": "assistant", "content": answer.text}, None)
            yield self._chunk({}, "stop")

    def _chunk(self, delta: Json, finish: str | None) -> tuple[None, Json]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        envelope = {"id": "chunk", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
        return None, envelope | {"choices": [choice]}

    def ending(self) -> bytes:
        return b"data: [DONE]\n\n"


class Responses(WireFormat):
    """OpenAI Responses, with tools in namespaces."""

    path = "/responses"

    def turn(self, body: Json) -> Turn:
        items = body["input"]
        outputs = [item for item in items if str(item.get("type", "")).endswith("_output")]
        results = [text_of(item.get("output", item)) for item in outputs]
        tools = body.get("tools", [])
        rest = [body.get("instructions", ""), *(text_of(item["content"]) for item in items if "role" in item)]
        rest += [tool.get("description", "") for tool in tools if tool["type"] == "namespace"]
        return Turn(tuple(self._tools(tools, None)), "\n".join(rest), tuple(results))

    def _tools(self, tools: list[Json], namespace: str | None) -> Iterator[Tool]:
        for tool in tools:
            if tool["type"] == "namespace":
                yield from self._tools(tool["tools"], tool["name"])
            elif tool["type"] == "function":
                yield Tool(tool["name"], tool.get("description", ""), tool.get("parameters", {}), namespace)

    def events(self, answer: Answer, number: int) -> Iterator[tuple[str | None, Json]]:
        item: Json
        if isinstance(answer, Call):
            item = {"type": "function_call", "id": f"fc_{number}", "call_id": f"call_{number}"}
            item |= {"name": answer.tool.name, "arguments": json.dumps(answer.arguments)}
            item |= {"namespace": answer.tool.namespace} if answer.tool.namespace else {}
        else:
            item = {"type": "message", "id": f"msg_{number}", "role": "assistant"}
            item |= {"content": [{"type": "output_text", "text": answer.text}]}
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        response = {"id": f"resp_{number}"}
        for name, fields in (
            ("response.created", {"response": response}),
            ("response.output_item.done", {"output_index": 0, "item": item}),
            ("response.completed", {"response": {**response, "usage": usage}}),
        ):
            yield name, {"type": name, **fields}


class GenerateContent(WireFormat):
    """Gemini's generateContent."""

    path = "enerateContent"  # generateContent and streamGenerateContent

    def turn(self, body: Json) -> Turn:
        functions = [f for group in body.get("tools", []) for f in group.get("functionDeclarations", [])]
        tools = [
            Tool(f["name"], f.get("description", ""), f.get("parametersJsonSchema") or f.get("parameters") or {})
            for f in functions
        ]
        parts = [part for content in body["contents"] for part in content["parts"]]
        results = [text_of(part["functionResponse"]["response"]) for part in parts if "functionResponse" in part]
        system = body.get("systemInstruction", {}).get("parts", [])
        rest = [part["text"] for part in (*system, *parts) if "text" in part]
        return Turn(tuple(tools), "\n".join(rest), tuple(results))

    def events(self, answer: Answer, number: int) -> Iterator[tuple[str | None, Json]]:
        part: Json = {"text": answer.text} if isinstance(answer, Say) else {}
        if isinstance(answer, Call):
            part = {"functionCall": {"name": answer.tool.name, "args": answer.arguments}}
        candidate = {"index": 0, "content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        yield None, {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}


class Messages(WireFormat):
    """Anthropic Messages."""

    path = "/messages"

    def turn(self, body: Json) -> Turn:
        offered = body.get("tools", [])
        tools = [Tool(tool["name"], tool.get("description", ""), tool.get("input_schema", {})) for tool in offered]
        messages = [message for message in body["messages"] if message["role"] != "assistant"]
        blocks = [block for message in messages for block in blocks_of(message["content"])]
        results = [text_of(block.get("content")) for block in blocks if block["type"] == "tool_result"]
        rest = "\n".join([text_of(body.get("system")), *(block["text"] for block in blocks if block["type"] == "text")])
        # Claude Code announces the tools of MCP servers by their names alone, one per line.
        loaded = {tool.name for tool in tools}
        announced = [line for line in rest.splitlines() if re.fullmatch(r"mcp__\S+", line) and line not in loaded]
        tools += [Tool(name, deferred=True) for name in dict.fromkeys(announced)]
        return Turn(tuple(tools), rest, tuple(results))

    def events(self, answer: Answer, number: int) -> Iterator[tuple[str | None, Json]]:
        block: Json = {"type": "text", "text": ""}
        delta: Json
        if isinstance(answer, Call):
            block = {"type": "tool_use", "id": f"toolu_{number}", "name": answer.tool.name, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(answer.arguments)}
        else:
            delta = {"type": "text_delta", "text": answer.text}
        reason = "tool_use" if isinstance(answer, Call) else "end_turn"
        usage = {"input_tokens": 1, "output_tokens": 1}
        message: Json = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "scripted"}
        message |= {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage}
        for name, fields in (
            ("message_start", {"message": message}),
            ("content_block_start", {"index": 0, "content_block": block}),
            ("content_block_delta", {"index": 0, "delta": delta}),
            ("content_block_stop", {"index": 0}),
            ("message_delta", {"delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}),
            ("message_stop", {}),
        ):
            yield name, {"type": name, **fields}


def blocks_of(content: Any) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content or []


def text_of(content: Any) -> str:
    """Return the text that a model reads of a content: its texts, and any other block as JSON."""
    if isinstance(content, dict):
        return json.dumps(content, ensure_ascii=False)
    return "\n".join(block.get("text") or json.dumps(block, ensure_ascii=False) for block in blocks_of(content))


FORMATS: tuple[WireFormat, ...] = (ChatCompletions(), Responses(), GenerateContent(), Messages())


@dataclass
class ScriptedModel:
    """The server; a context manager."""

    script: Script

    def __enter__(self) -> Self:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._numbers = itertools.count(1)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def answer(self, path: str, body: Json) -> bytes | None:
        """Answer one request with server-sent events; None for a path that generates nothing."""
        wire = next((wire for wire in FORMATS if wire.path in path and not path.endswith("count_tokens")), None)
        if wire is None:
            return None
        turn = wire.turn(body)
        answer = self.script(turn) if turn.tools else Say("{}")
        events = wire.events(answer, next(self._numbers))
        lines = [(f"event: {name}\n" if name else "") + f"data: {json.dumps(event)}\n\n" for name, event in events]
        return "".join(lines).encode() + wire.ending()


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))) or b"{}")
            self._send(model.answer(self.path.partition("?")[0], body))

        def do_GET(self) -> None:
            self._send(None)

        def _send(self, events: bytes | None) -> None:
            self.send_response(404 if events is None else 200)
            self.send_header("Content-Type", "application/json" if events is None else "text/event-stream")
            self.send_header("Content-Length", str(len(events or b"{}")))
            self.end_headers()
            self.wfile.write(events or b"{}")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name it has in the standard library)
            pass

    return Handler
