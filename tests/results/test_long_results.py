"""The shortened form of long results."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_mcp.results.long_results import COMPARED_BYTES, Kept, read_long, shortened
from search_mcp.wire import payload

Json = dict[str, Any]
LIMIT = 1000
KEPT = Kept("h" * 24, 12_345, has_link=False)
LONG = "".join(f"line {number}\n" for number in range(500))


def text(words: str, **more: Any) -> Json:
    return {"type": "text", "text": words, **more}


IMAGE: Json = {"type": "image", "data": "A" * 5000, "mimeType": "image/png"}
AUDIO: Json = {"type": "audio", "data": "A" * 5000, "mimeType": "audio/wav"}
EMBEDDED: Json = {"type": "resource", "resource": {"uri": "file:///a", "mimeType": "text/plain", "text": LONG}}
BLOB: Json = {"type": "resource", "resource": {"uri": "file:///a", "blob": "A" * 5000}}


def shorten(body: Json, limit: int = LIMIT, kept: Kept = KEPT, *, keeps_structured: bool = False) -> Json | None:
    """Shorten a result, as the client decodes it; `None` if it passes as it is."""
    long = read_long(payload.fields(payload.encode(body)), limit, keeps_structured=keeps_structured)
    return None if long is None else json.loads(bytes(payload.encode(shortened(long, limit, kept))))


def document(body: Json, limit: int = LIMIT) -> str:
    long = read_long(payload.fields(payload.encode(body)), limit)
    assert long is not None
    return long.text


PASSED = [
    pytest.param({"content": [text("x" * LIMIT)]}, id="exactly at the limit"),
    pytest.param({"content": [text("日" * LIMIT)]}, id="exactly at the limit, in more bytes"),
    pytest.param({"content": [text("\n" * LIMIT)]}, id="exactly at the limit, escaped"),
    pytest.param({"content": [text(LONG)], "isError": True}, id="an error"),
    pytest.param({"content": [IMAGE, AUDIO, BLOB, text("x")]}, id="images, audio and data"),
    pytest.param({"content": [text(LONG)], "_meta": {"search-mcp/truncated": {"total": 9}}}, id="shortened before"),
    pytest.param({"content": [text(LONG)], "_meta": {"ui": {"resourceUri": "ui://x"}}}, id="shown by an app"),
    pytest.param({"content": [{"type": "resource_link", "uri": "a:b", "name": "x" * 5000}]}, id="a link"),
    pytest.param({"content": "x" * 5000}, id="content that is no list"),
    pytest.param({"content": [7, None, {"type": "text"}, {"type": "text", "text": ["x" * 5000]}]}, id="no text"),
    pytest.param({}, id="empty"),
    pytest.param({"content": [text("x" * 900)], "structuredContent": {"a": ["y" * 900]}}, id="each below the limit"),
    pytest.param(
        {"content": [text("\n" * 900)], "structuredContent": {"result": "\n" * 900}}, id="longer as JSON only"
    ),
]


@pytest.mark.parametrize("body", PASSED)
def test_a_result_passes_as_it_is(body: Json) -> None:
    assert shorten(body) is None


def test_a_long_text_becomes_head_and_tail_with_a_note() -> None:
    body = shorten({"content": [text(LONG, annotations={"audience": ["user"]})], "_meta": {"kept": 1}, "other": [1]})
    assert body is not None
    (block, note) = body["content"]
    head, marker, tail = block["text"].split("\n\n")
    assert LONG.startswith(head + "\n")
    assert LONG.endswith(tail)
    assert block["annotations"] == {"audience": ["user"]}
    left_out = len(LONG) - len(head) - 1 - len(tail)
    assert marker == f"[… {left_out:,} characters left out …]"
    assert note["text"] == (
        f"[search-mcp shortened this result: {len(LONG):,} characters in all, of which the first {len(head) + 1} and "
        f'the last {len(tail)} are shown. Read on with read_result: handle="{"h" * 24}" and offset={len(head) + 1}, '
        'or pattern="…" (regular expression: finds lines). It is kept for up to an hour.]'
    )
    assert body["_meta"] == {"kept": 1, "search-mcp/truncated": {"total": len(LONG), "handle": "h" * 24}}
    assert body["other"] == [1]
    assert len(head) > len(tail) > 100


@pytest.mark.parametrize("words", ["x" * 1001, "x" * 10**7, "日" * 10**6, "[" + "1," * 10**6 + "1]"])
def test_a_text_without_lines_is_within_the_limit_too(words: str) -> None:
    body = shorten({"content": [text(words)]})
    assert body is not None
    assert LIMIT - 60 <= sum(len(block["text"]) for block in body["content"]) <= LIMIT


def test_lines_stay_whole() -> None:
    body = shorten({"content": [text(LONG)]})
    assert body is not None
    assert all(line.startswith(("line ", "[…")) for line in body["content"][0]["text"].split("\n") if line)


def test_images_and_other_blocks_stay_where_they_are() -> None:
    link = {"type": "resource_link", "uri": "a:b", "name": "b"}
    body = shorten({"content": [IMAGE, text("x" * 5000), AUDIO, text("y" * 5000), link, text("the end")]})
    assert body is not None
    kinds = [block["type"] for block in body["content"]]
    assert kinds == ["image", "text", "audio", "text", "resource_link", "text", "text"]
    assert (body["content"][0], body["content"][2], body["content"][4]) == (IMAGE, AUDIO, link)
    assert body["content"][-2] == text("the end")


def test_of_many_small_texts_the_first_and_the_last_stay_whole() -> None:
    texts = [f"item {number}" for number in range(1000)]
    body = shorten({"content": [text(each) for each in texts]})
    assert body is not None
    *blocks, _ = (block["text"] for block in body["content"])
    (gap,) = (position for position, each in enumerate(blocks) if "left out" in each)
    assert blocks[:gap] == texts[:gap] or blocks[: gap - 1] == texts[: gap - 1]
    assert blocks[gap + 1 :] == texts[-len(blocks[gap + 1 :]) :]
    assert document({"content": [text(each) for each in texts]}) == "\n".join(texts)


def test_a_long_embedded_resource_becomes_a_text_with_its_uri() -> None:
    body = shorten({"content": [EMBEDDED]})
    assert body is not None
    assert body["content"][0]["type"] == "text"
    assert body["content"][0]["text"].startswith("file:///a:\nline 0\n")
    assert document({"content": [EMBEDDED]}) == f"file:///a:\n{LONG}"


def test_a_short_embedded_resource_stays_one() -> None:
    small = {"type": "resource", "resource": {"uri": "file:///b", "text": "small"}}
    body = shorten({"content": [small, text(LONG)]})
    assert body is not None
    assert body["content"][0] == small


@pytest.mark.parametrize(
    "structured",
    [
        pytest.param({"result": LONG}, id="a string in an object"),
        pytest.param({"content": LONG}, id="under another key"),
    ],
)
def test_structured_content_that_is_the_text_is_left_out(structured: Json) -> None:
    body = shorten({"content": [text(LONG)], "structuredContent": structured})
    assert body is not None
    assert "structuredContent" not in body
    assert document({"content": [text(LONG)], "structuredContent": structured}) == LONG


ITEMS = [{"name": f"日本 {number}", "size": number, "nothing": None} for number in range(200)]


@pytest.mark.parametrize("value", [{"items": ITEMS}, {"items": ITEMS, "count": 200}], ids=["one key", "two keys"])
@pytest.mark.parametrize("written", ["compact", "indented", "escaped", "the only value"])
def test_structured_content_that_is_written_as_text_is_recognised(value: Json, written: str) -> None:
    if written == "the only value" and len(value) > 1:
        pytest.skip("there are two")
    words = {
        "compact": json.dumps(value, ensure_ascii=False, separators=(",", ":")),
        "indented": json.dumps(value, ensure_ascii=False, indent=2),
        "escaped": json.dumps(value),
        "the only value": json.dumps(value["items"], indent=1),
    }[written]
    body: Json = {"content": [text(words)], "structuredContent": value}
    assert document(body) == words
    shown = shorten(body)
    assert shown is not None
    assert "path=" in shown["content"][-1]["text"]


def test_a_list_whose_items_are_texts_of_their_own_is_recognised() -> None:
    body: Json = {
        "content": [text(json.dumps(item, indent=2)) for item in ITEMS],
        "structuredContent": {"result": ITEMS},
    }
    long = read_long(payload.fields(payload.encode(body)), LIMIT)
    assert long is not None
    assert [json.loads(long.text[start:end]) for start, end in long.spans] == ITEMS


@pytest.mark.parametrize("words", ["200 items", "", "[1]"])
def test_structured_content_that_says_more_than_the_text_becomes_text(words: str) -> None:
    value = {"items": ITEMS}
    as_json = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    body: Json = {"content": [text(words)], "structuredContent": value}
    long = read_long(payload.fields(payload.encode(body)), LIMIT)
    assert long is not None
    assert long.text == f"{words}\n{as_json}"
    ((start, end),) = long.spans
    assert long.text[start:end] == as_json
    shown = shorten(body)
    assert shown is not None
    assert "structuredContent" not in shown
    assert shown["content"][0] == text(words)
    assert shown["content"][1]["text"].startswith('{"items":[{"name":"日本 0"')


def test_structured_content_that_fits_a_known_schema_passes_whole() -> None:
    body: Json = {"content": [text(LONG)], "structuredContent": {"result": LONG}}
    assert shorten(body, keeps_structured=True) is None
    assert shorten({"content": [text(LONG)]}, keeps_structured=True) is not None


def test_very_large_json_is_compared_without_decoding_it() -> None:
    items = [{"text": "x y " * 1000, "n": number} for number in range(300)]
    body: Json = {"content": [text(json.dumps(items, indent=2))], "structuredContent": {"result": items}}
    assert len(payload.encode_bytes(items)) > COMPARED_BYTES
    assert document(body) == json.dumps(items, indent=2)


def test_the_link_is_only_for_revisions_that_have_it() -> None:
    without, with_link = shorten({"content": [text(LONG)]}), shorten({"content": [text(LONG)]}, kept=Kept("h", 7, True))
    assert without is not None
    assert with_link is not None
    assert [block["type"] for block in without["content"]] == ["text", "text"]
    assert with_link["content"][1] == {
        "type": "resource_link",
        "uri": "search-mcp://result/h",
        "name": "whole result",
        "mimeType": "text/plain",
        "size": 7,
    }
    assert "Read on" in with_link["content"][-1]["text"]


BLOCKS = st.one_of(
    st.text(
        alphabet=st.sampled_from(["a", " ", "\n", "日", "\u0301", "👩", "\u200d", "🇯", '"', "\\", "{"]), max_size=900
    ).map(text),
    st.just(IMAGE),
)


@settings(deadline=None)
@given(st.lists(BLOCKS, max_size=12), st.integers(1000, 3000))
def test_a_shortened_result_is_within_its_limit_and_shows_what_the_note_says(blocks: list[Json], limit: int) -> None:
    body = {"content": blocks}
    shown = shorten(body, limit)
    texts = [block["text"] for block in blocks if block["type"] == "text"]
    if shown is None:
        assert sum(map(len, texts)) <= limit
        return
    found = [block["text"] for block in shown["content"] if block["type"] == "text"]
    assert sum(map(len, found)) <= limit
    assert [block for block in shown["content"] if block["type"] == "image"] == [
        block for block in blocks if block["type"] == "image"
    ]
    whole, note = "\n".join(texts), found[-1]
    assert f"{len(whole):,} characters in all" in note
    offset = int(note.partition("offset=")[2].partition(",")[0])
    left_out = int("".join(found).partition("[… ")[2].partition(" characters")[0].replace(",", ""))
    head, tail = whole[:offset], whole[offset + left_out :]
    squeezed = "".join("".join(found[:-1]).split())
    marker = f"[…{left_out:,}charactersleftout…]"
    assert squeezed == "".join(head.split()) + marker + "".join(tail.split())
