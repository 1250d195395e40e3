"""What a hostile server may send to hold the event loop: one entry for each way."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from loop_steps.visit import TOOL, Hostile, Json

TASK_NEWS = b'"jsonrpc":"2.0","method":"notifications/tasks/status","params":{"taskId":"a","status":"working"}'
REFUSAL: Json = {"error": {"code": -32602, "message": "wrong arguments"}}


def _tool(name: str = "calm", **more: Any) -> Json:
    return {**TOOL, "name": name, **more}


def _schema(**more: Any) -> Json:
    return {"type": "object", **more}


def _fanned_out(levels: int, keyword: str = "anyOf") -> Json:
    nodes: Json = {
        f"n{level}": {keyword: [{"$ref": f"#/$defs/n{level + 1}"}, {"$ref": f"#/$defs/n{level + 1}"}]}
        for level in range(levels)
    }
    nodes[f"n{levels}"] = {"required": ["zzz"]}
    return _schema(allOf=[{"$ref": "#/$defs/n0"}], **{"$defs": nodes})


def _nested(levels: int) -> Json:
    schema: Json = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}, "required": ["a"]}
    return schema


def _fanned_properties(levels: int, width: int) -> Json:
    nodes = {
        f"n{level}": _schema(properties={f"p{each}": {"$ref": f"#/$defs/n{level + 1}"} for each in range(width)})
        for level in range(levels)
    }
    return _schema(properties={"a": {"$ref": "#/$defs/n0"}}, **{"$defs": nodes})


def _many(count: int, **more: Any) -> list[Json]:
    return [_tool(f"tool_{number}", **more) for number in range(count)]


def _wide(count: int) -> Json:
    names = [f"property_{number}" for number in range(count)]
    return _schema(properties={name: {"type": "string"} for name in names}, required=names)


def _members(count: int) -> Json:
    return {f"k{each}": 1 for each in range(count)}


def _batch(message: bytes, count: int) -> bytes:
    return b"[" + b",".join([message] * count) + b"]"


def _odd_words(count: int) -> str:
    return " ".join(f"{number:x}qx" for number in range(count))


def _links(count: int) -> list[Json]:
    return [{"type": "resource_link", "uri": f"file:///{number}", "name": "a"} for number in range(count)]


def _skill(path: str, files: int = 1, scheme: str = "skill", **frontmatter: Any) -> Json:
    root = f"{scheme}://{path}"
    manifest = [{"uri": f"{root}/{each}.md", "digest": "sha256:" + "0" * 64, "size": each} for each in range(files)]
    about = {"name": path.rpartition("/")[2][:64], "description": "Do a calm thing with words.", **frontmatter}
    return {"uri": f"{root}/SKILL.md", "frontmatter": about, "resources": manifest}


def _deep(levels: int, name: str) -> str:
    """A path of long directories, which all begin alike."""
    return "/".join(["d" * (7900 // levels)] * levels) + f"/{name}"


CORPUS: Mapping[str, Callable[[], Hostile]] = {
    "nothing unusual": Hostile,
    "60 levels of doubled $ref, error": lambda: Hostile([_tool(inputSchema=_fanned_out(60))], call=REFUSAL),
    "15 levels of doubled allOf, error": lambda: Hostile([_tool(inputSchema=_fanned_out(15, "allOf"))], call=REFUSAL),
    "$ref of 1,000 properties each, 5 levels": lambda: Hostile([_tool(inputSchema=_fanned_properties(5, 1000))]),
    "12,000 properties, all required": lambda: Hostile([_tool(inputSchema=_wide(12_000))], call=REFUSAL),
    "50 tools of 5,000 properties": lambda: Hostile([TOOL, *_many(50, inputSchema=_wide(5000))], call=REFUSAL),
    "100,000 properties without types": lambda: Hostile(
        [_tool(inputSchema=_schema(properties={f"p{each}": True for each in range(100_000)}))]
    ),
    "40,000 properties without types": lambda: Hostile(
        [_tool(inputSchema=_schema(properties={f"p{each}": True for each in range(40_000)}))]
    ),
    "5,000 templates that begin alike": lambda: Hostile(
        templates=[{"name": "t", "uriTemplate": "x" + "{a}b" * 7 + str(each) + "{+b}"} for each in range(5000)],
        uri="x" + "b" * 4000,
    ),
    "page of 8 million numbers": lambda: Hostile(raw={"tools/list": b'{"tools":[' + b"1," * 8_000_000 + b"1]}"}),
    "cursor of 16 MB": lambda: Hostile(raw={"tools/list": b'{"tools":[],"nextCursor":"%b"}' % (b"x" * (16 << 20))}),
    "page of one tool and 16 MB": lambda: Hostile(
        raw={"tools/list": json.dumps({"tools": [TOOL], "x": "word " * (3 << 20)}).encode()}
    ),
    "error of 16 MB instead of a list": lambda: Hostile(errors={"tools/list": "word " * (3 << 20)}),
    "error of 16 MB instead of the opening": lambda: Hostile(errors={"initialize": "word " * (3 << 20)}),
    "_meta of 16 tools, a megabyte each": lambda: Hostile(
        [TOOL, *_many(16, _meta={f"a{each}": [each] for each in range(50_000)})]
    ),
    "20 schemas of nearly a megabyte": lambda: Hostile([TOOL, *_many(15, inputSchema=_wide(17_000))], call=REFUSAL),
    "enum of 50,000 values": lambda: Hostile(
        [_tool(inputSchema=_schema(properties={"a": {"enum": [f"value {each}" for each in range(50_000)]}}))],
        call=REFUSAL,
        arguments={"a": "none of them"},
    ),
    "1,000 enums of 1,000 values": lambda: Hostile(
        [
            _tool(
                inputSchema=_schema(
                    properties={
                        f"p{each}": {"enum": [f"value {value}" for value in range(1000)]} for each in range(1000)
                    }
                )
            )
        ],
        call=REFUSAL,
    ),
    "schema nested 300 levels": lambda: Hostile([_tool(inputSchema=_nested(150))], call=REFUSAL),
    "schema nested 200,000 levels": lambda: Hostile(
        raw={
            "tools/list": b'{"tools":[{"name":"calm","inputSchema":{"type":"object","properties":'
            + b'{"a":' * 200_000
            + b"1"
            + b"}" * 200_000
            + b"}}]}"
        }
    ),
    "template of 1,500 expressions": lambda: Hostile(
        templates=[{"name": "t", "uriTemplate": "{+a}" * 1500}], uri="x" * 4000
    ),
    "1,000 templates of 100 expressions": lambda: Hostile(
        templates=[{"name": "t", "uriTemplate": "{+a}b" * 100 + str(each)} for each in range(1000)], uri="b" * 4000
    ),
    "20,000 templates": lambda: Hostile(
        templates=[{"name": "t", "uriTemplate": f"x{{+a}}{each}"} for each in range(20_000)], uri="x" * 4000
    ),
    "20,000 resources": lambda: Hostile(
        resources=[{"name": "t", "uri": f"nobody:///{each}"} for each in range(20_000)]
    ),
    "20,000 prompts": lambda: Hostile(prompts=[{"name": f"p{each}"} for each in range(20_000)]),
    "100,000 skills": lambda: Hostile(skills=[_skill(f"s{each}") for each in range(100_000)]),
    "5,000 skills": lambda: Hostile(skills=[_skill(f"a/b/s{each}") for each in range(5_000)]),
    "16 skills with frontmatter of nearly a megabyte": lambda: Hostile(
        skills=[_skill(f"s{each}", text={f"k{key}": [key] for key in range(60_000)}) for each in range(16)]
    ),
    "16 skills with descriptions and names of half a megabyte": lambda: Hostile(
        skills=[_skill(f"s{each}", description="word " * 100_000, name="n_" * 250_000) for each in range(16)]
    ),
    "4 skills with frontmatter of 5 MB": lambda: Hostile(
        skills=[_skill(f"s{each}", text="word " * (1 << 20)) for each in range(4)]
    ),
    "16 skills of 7,500 files": lambda: Hostile(skills=[_skill(f"s{each}", files=7_500) for each in range(16)]),
    "skills in long deep directories": lambda: Hostile(
        skills=[_skill(_deep(28, f"s{each}"), files=0) for each in range(2_000)],
        uri=f"skill://{_deep(28, 's7')}/SKILL.md",
    ),
    "nested skills around many resources": lambda: Hostile(
        skills=[_skill("x" + "/x" * each, scheme="github") for each in range(29)],
        resources=[{"name": "r", "uri": "github://x" + "/x" * 28 + f"/{each}"} for each in range(4_900)],
        uri="github://x" + "/x" * 28 + "/nothing",
    ),
    "skills in each other and resources in all": lambda: Hostile(
        skills=[_skill("x" + "/x" * each, files=0, scheme="github") for each in range(2_400)],
        resources=[{"name": "r", "uri": "github://x" + "/x" * 2_400 + f"/{each}"} for each in range(2_400)],
        uri="github://x" + "/x" * 2_400 + "/nothing",
    ),
    "4,900 skills of one name": lambda: Hostile(
        skills=[_skill(f"s{each}/calm") for each in range(4_900)], uri="skill://s7/calm"
    ),
    "frontmatter nested 200,000 levels": lambda: Hostile(
        raw={
            "skills/list": b'{"skills":[{"uri":"skill://a/SKILL.md","resources":"dynamic","frontmatter":'
            + b'{"a":' * 200_000
            + b"1"
            + b"}" * 200_001
            + b"]}"
        }
    ),
    "one name of a megabyte": lambda: Hostile([TOOL, _tool("n" * (1 << 20))]),
    "ten names of a megabyte": lambda: Hostile([TOOL, *(_tool(f"{each}-" + "n." * (1 << 19)) for each in range(10))]),
    "URIs of a megabyte": lambda: Hostile(
        resources=[{"name": "t", "uri": f"nobody://{each}" + "x" * (1 << 20)} for each in range(10)],
        templates=[{"name": "t", "uriTemplate": f"nobody://{each}" + "{+a}" * (1 << 18)} for each in range(4)],
    ),
    "3,000 names of nearly 1,000 characters": lambda: Hostile(
        [TOOL, *(_tool(f"{each}" + "n.x_" * 245) for each in range(3000))]
    ),
    "5,000 names that fold to one": lambda: Hostile(
        [TOOL, *(_tool("".join("._"[each >> bit & 1] for bit in range(13))) for each in range(5000))]
    ),
    "5,000 tools": lambda: Hostile([TOOL, *_many(5000, description="Do something with a thing. " * 4)]),
    "30,000 tools": lambda: Hostile([TOOL, *_many(30_000)]),
    "30 pages of 1,000 tools": lambda: Hostile([TOOL, *_many(1000, description="Do it. " * 10)], pages=30),
    "20 pages of 4 MB": lambda: Hostile([TOOL, *_many(4, description="x" * (1 << 20))], pages=20),
    "one page of 60 MB": lambda: Hostile([TOOL, *_many(60, description="x" * (1 << 20))]),
    "5,000 tools of 3 kB": lambda: Hostile(
        [TOOL, *_many(5000, description="Do it with words. " * 40, inputSchema=_wide(40))]
    ),
    "5,000 tools of as many words": lambda: Hostile(
        [TOOL, *(_tool(f"t{each}", description=_odd_words(400)) for each in range(5000))]
    ),
    "descriptions of 5 MB without an end": lambda: Hostile([_tool(description="word " * (1 << 20)), *_many(2)]),
    "description of blank lines": lambda: Hostile([_tool(description="a\n" + " " * (1 << 20) + "\na")]),
    "description of abbreviations": lambda: Hostile(
        [_tool(description="e.g. " * (1 << 18)), *_many(300, description="etc. i.e. " * 1000)]
    ),
    "description of new lines": lambda: Hostile([*_many(200, description="a" + "\n " * 5000), TOOL]),
    "title of 10 MB": lambda: Hostile(title="word " * (2 << 20)),
    "instructions of 10 MB": lambda: Hostile(instructions="word " * (2 << 20)),
    "instructions of marks": lambda: Hostile(instructions="[" * 100_000 + "](" * 100_000 + "**`__" * 100_000),
    "annotations and _meta of megabytes": lambda: Hostile(
        [
            _tool(
                annotations={f"a{each}": ["x"] * 10 for each in range(100_000)},
                _meta={f"a{each}": {"ui": "x"} for each in range(100_000)},
            )
        ]
    ),
    "wide JSON in 100 definitions": lambda: Hostile(
        [TOOL, *_many(100, _meta={f"a{each}": [each] for each in range(10_000)})]
    ),
    "2,000 definitions of 900 members": lambda: Hostile([TOOL, *_many(2000, **_members(900))]),
    "icons and arguments of 200,000": lambda: Hostile(
        [_tool(icons=[{"src": "x"}] * 200_000)],
        prompts=[{"name": "p", "arguments": [{"name": f"a{each}"} for each in range(200_000)]}],
    ),
    "5,000 definitions of the wrong shape": lambda: Hostile(
        [TOOL, *_many(5000, title=5, annotations={"title": 5}, inputSchema={"properties": {"a": True}})]
    ),
    "result of 100,000 resource links": lambda: Hostile(call={"result": {"content": _links(100_000)}}),
    "result of 300,000 small blocks": lambda: Hostile(
        call={"result": {"content": [{"type": "resource", "a": [[]]}] * 300_000}}
    ),
    "error result of 100,000 blocks": lambda: Hostile(
        call={"result": {"content": [{"type": "text", "text": "a"}] * 100_000, "isError": True}}
    ),
    "result of 10 MB": lambda: Hostile(call={"result": {"content": [{"type": "text", "text": "a" * 10_000_000}]}}),
    "result of 60 MB": lambda: Hostile(call={"result": {"content": [{"type": "text", "text": "a" * 60_000_000}]}}),
    "result of 60 MB, not ASCII": lambda: Hostile(
        raw={"tools/call": b'{"content":[{"type":"text","text":"' + "é".encode() * 30_000_000 + b'"}]}'}
    ),
    "result of 20 MB with lone surrogates": lambda: Hostile(
        raw={"tools/call": rb'{"content":[{"type":"text","text":"' + rb"\ud800" * 3_000_000 + b'"}]}'}
    ),
    "result of 20 MB, structured": lambda: Hostile(
        call={"result": {"content": [], "structuredContent": {f"k{each}": [each] for each in range(1_000_000)}}}
    ),
    "error message of 5 MB": lambda: Hostile(
        call={"error": {"code": -32602, "message": "word " * (1 << 20), "data": {"a": "x" * (1 << 20)}}}
    ),
    "error data of 200,000 members": lambda: Hostile(
        call={"error": {"code": -32602, "message": "no", "data": {f"k{each}": each for each in range(200_000)}}}
    ),
    "error that asks for 1,000,000 URLs": lambda: Hostile(
        call={"error": {"code": -32042, "message": "no", "data": {"elicitations": [{}] * 1_000_000}}}
    ),
    "error that asks for 20,000 URLs": lambda: Hostile(
        call={"error": {"code": -32042, "message": "no", "data": {"elicitations": [{}] * 20_000}}}
    ),
    "update of a resource with 650,000 members": lambda: Hostile(
        notifications=[{"method": "notifications/resources/updated", "params": {"uri": "a:b", **_members(650_000)}}]
    ),
    "log message with 650,000 members": lambda: Hostile(
        notifications=[{"method": "notifications/message", "params": {"level": "info", "data": 1, **_members(650_000)}}]
    ),
    "cancellation with 650,000 members": lambda: Hostile(
        notifications=[{"method": "notifications/cancelled", "params": {"requestId": 1, **_members(650_000)}}]
    ),
    "question with 330,000 members": lambda: Hostile(
        notifications=[{"id": 1, "method": "elicitation/create", "params": {"message": "a", **_members(330_000)}}]
    ),
    "news of a task with 650,000 questions": lambda: Hostile(
        notifications=[
            {"method": "notifications/tasks/status", "params": {"taskId": "a", "inputRequests": _members(650_000)}}
        ]
    ),
    "last output of 4 kB of invisible text": lambda: Hostile(stderr_tail="\u200b\u202e" * 2000),
    "2,000 notifications": lambda: Hostile(
        notifications=[{"method": "notifications/message", "params": {"level": "info", "data": "x"}}] * 2000
    ),
    "batches of 16,000 notifications": lambda: Hostile(lines=(_batch(b"{%b}" % TASK_NEWS, 16_000),) * 5),
    "batch of 1,000 notifications": lambda: Hostile(lines=(_batch(b"{%b}" % TASK_NEWS, 1_000),)),
    "batch of 10 million numbers": lambda: Hostile(lines=(_batch(b"1", 10_000_000),)),
    "line of 60 MB that is no text": lambda: Hostile(lines=(b"\xff" * 60_000_000,)),
    "batch of 4 million escapes": lambda: Hostile(lines=(_batch(rb'{"a":"%b"}' % (rb"\u0061" * 100_000), 40),)),
    "line of a million members that is no message": lambda: Hostile(
        lines=(b'{"jsonrpc":1,' + json.dumps(_members(1_000_000)).encode()[1:],)
    ),
    "500 notices of changed lists": lambda: Hostile(
        [TOOL, *_many(500)], notifications=[{"method": "notifications/tools/list_changed"}] * 500
    ),
}

LARGE: Mapping[str, float] = {
    "one page of 60 MB": 4.0,
    "result of 60 MB": 4.0,
    "result of 60 MB, not ASCII": 4.0,
    "result of 20 MB with lone surrogates": 2.0,
}
"""How many times the limit a message may take that is nearly as large as messages may be: 64 MiB.

Its bytes are joined, checked and copied, each in one call: about two milliseconds a megabyte.
"""
