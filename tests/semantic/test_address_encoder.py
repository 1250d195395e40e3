"""Vectors from an address: requests, refusals, pauses, and a model that changes."""

import base64
import json
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest
from embeddings_service import NUMBERS, Answer, Asked, Service, answer, refusal, serving, usual, vector

from search_mcp.semantic import address_encoder, calibration
from search_mcp.semantic.address_encoder import AddressEncoder
from search_mcp.semantic.encoding import ChangedError, EncodingError
from search_mcp.semantic.lines import Address
from search_mcp.semantic.models import ModelError

KEY = "sk-very-secret-0123456789"
FIXED = calibration.texts("", "")
New = Callable[..., AddressEncoder]


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as running:
        yield running


@pytest.fixture
def new(service: Service, tmp_path: Path) -> Iterator[New]:
    opened = []

    def new(model: str = "m", key: str = "", url: str = "") -> AddressEncoder:
        opened.append(AddressEncoder(Address(url or service.url, model, key), tmp_path / "vectors.sqlite3"))
        return opened[-1]

    yield new
    for each in opened:
        each.close()


def unit(text: str) -> Any:
    found = numpy.array(vector(text))
    return found / numpy.linalg.norm(found)


def after_fixed(service: Service) -> list[Asked]:
    return [each for each in service.asked if not {*each.texts} <= {*FIXED}]


# Requests


def test_nothing_is_sent_before_the_first_query(service: Service, new: New) -> None:
    encoder = new(key=KEY)
    assert (encoder.unrelated, encoder.knows_all_languages, service.asked) == (0.0, False, [])


def test_vectors_of_texts_and_of_a_query(service: Service, new: New) -> None:
    encoder = new(key=KEY)
    rows = encoder.texts(["one", "two"])
    assert rows.dtype == numpy.float32
    assert rows == pytest.approx(numpy.stack([unit(each) for each in ("one", "two")]), abs=1e-6)
    assert encoder.query("three") == pytest.approx(unit("three"), abs=1e-6)
    first, second = after_fixed(service)
    assert (first.path, first.body) == ("/v1/embeddings", {"model": "m", "input": ["one", "two"]})
    assert first.headers["authorization"] == f"Bearer {KEY}"
    assert first.headers["user-agent"] == "search-mcp"
    assert second.texts == ("three",)


def test_one_connection_is_used_for_requests_in_a_row(service: Service, new: New) -> None:
    encoder = new()
    for each in ("one", "two", "three"):
        encoder.query(each)
    assert len(service.clients) == 1


def test_a_query_does_not_wait_for_texts(service: Service, new: New) -> None:
    encoder = new()
    encoder.query("first")
    arrived, may_answer = threading.Event(), threading.Event()

    def respond(asked: Asked) -> Answer:
        if "slow" in asked.texts:
            arrived.set()
            assert may_answer.wait(20)
        return usual(asked)

    service.respond = respond
    found = []
    thread = threading.Thread(target=lambda: found.append(encoder.texts(["slow"])))
    thread.start()
    assert arrived.wait(20)
    encoder.query("quick")
    assert found == []
    may_answer.set()
    thread.join(20)
    assert len(found) == 1


def test_without_a_key_there_is_no_header_of_one(service: Service, new: New) -> None:
    new().query("one")
    assert not {"authorization", "api-key"} & service.asked[0].headers.keys()


ADDRESSES = [
    # what is after the port, the path that is asked for
    ("/v1", "/v1/embeddings"),
    ("/v1/", "/v1/embeddings"),
    ("/v1/embeddings", "/v1/embeddings"),
    ("/v1/embeddings/", "/v1/embeddings"),
    ("", "/embeddings"),
    ("/v1#part", "/v1/embeddings"),
    ("/openai/deployments/d?api-version=2024-10-21", "/openai/deployments/d/embeddings?api-version=2024-10-21"),
]


@pytest.mark.parametrize(("written", "path"), ADDRESSES)
def test_the_path(service: Service, new: New, written: str, path: str) -> None:
    encoder = new(url=f"http://127.0.0.1:{service.port}{written}", key=KEY)
    encoder.query("one")
    assert {each.path for each in service.asked} == {path}
    assert ("api-key" in service.asked[0].headers) is ("api-version" in path)


def test_a_user_in_the_address(service: Service, new: New) -> None:
    encoder = new(url=f"http://me:pass-word@localhost:{service.port}/v1")
    encoder.query("one")
    assert service.asked[0].headers["authorization"] == "Basic " + base64.b64encode(b"me:pass-word").decode()
    service.respond = lambda _asked: refusal(500, "wrong: pass-word")
    with pytest.raises(EncodingError) as raised:
        encoder.query("two")
    assert str(raised.value) == f"localhost:{service.port} fails (HTTP status 500): wrong: ***"


def test_the_prefixes_of_a_known_model(service: Service, new: New) -> None:
    encoder = new("nomic-embed-text:latest")
    encoder.texts(["one"])
    encoder.query("two")
    assert service.texts[-2:] == ["search_document: one", "search_query: two"]
    assert service.texts[0] == f"search_document: {calibration.TEXTS[0]}"


def test_empty_and_long_queries(service: Service, new: New) -> None:
    encoder = new()
    encoder.query(" ")
    encoder.query("x" * 100_000)
    encoder.texts([""])
    assert service.texts[-3:] == ["?", "x" * address_encoder.LONGEST_QUERY, "?"]


def test_the_last_queries_are_remembered(service: Service, new: New, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_encoder, "MOST_QUERIES", 2)
    encoder = new()
    for each in ("one", "two", " one ", "three", "one", "two"):
        assert encoder.query(each) == pytest.approx(unit(each.strip()), abs=1e-6)
    assert service.texts[len(FIXED) :] == ["one", "two", "three", "one", "two"]


# Answers


def shuffled(asked: Asked) -> Answer:
    status, headers, body = usual(asked)
    decoded = json.loads(body)
    decoded["data"].reverse()
    return status, headers, json.dumps(decoded).encode()


def in_base64(asked: Asked) -> Answer:
    return answer([base64.b64encode(struct.pack(f"<{NUMBERS}f", *vector(each))).decode() for each in asked.texts])


def without_index(asked: Asked) -> Answer:
    return 200, {}, json.dumps({"data": [{"embedding": vector(each)} for each in asked.texts]}).encode()


def huge(asked: Asked) -> Answer:
    return answer([[1e300 * each for each in vector(text)] for text in asked.texts])


@pytest.mark.parametrize("respond", [shuffled, in_base64, without_index, huge])
def test_forms_of_an_answer(service: Service, new: New, respond: Callable[[Asked], Answer]) -> None:
    service.respond = respond
    assert new().texts(["one", "two"]) == pytest.approx(numpy.stack([unit("one"), unit("two")]), abs=1e-6)


def test_the_format_is_sent_only_to_a_service_that_wants_it(service: Service, new: New) -> None:
    def respond(asked: Asked) -> Answer:
        if asked.body.get("encoding_format") != "float":
            return refusal(422, {"message": "body -> encoding_format: Input should be 'float' or 'base64'"})
        return usual(asked)

    service.respond = respond
    new().texts(["one", "two"])
    formats = [each.body.get("encoding_format") for each in service.asked]
    assert formats == [None, *["float"] * (len(formats) - 1)]


def just(body: bytes) -> Callable[[Asked], Answer]:
    return lambda _asked: (200, {}, body)


WRONG = [
    # answer, reason
    (just(b"{}"), "answers without a list of vectors; write its url up to the version, such as"),
    (just(b"<html>"), "answers without a list of vectors"),
    (just(b'[{"index": 0, "embedding": [[1.0]]}]'), "answers without a list of vectors"),  # llama.cpp without /v1
    (just(b'{"error": "Unexpected endpoint or method. (POST /x)"}'), "answers with an error: Unexpected endpoint"),
    (just(b'{"data": [{"embedding": [null]}]}'), "answers without a list of vectors"),
    (just(b'{"data": [{"embedding": [NaN]}]}'), "answers without a list of vectors"),
    (just(b'{"data": []}'), r"answers with 0 vectors for \d+ texts"),
    (lambda asked: answer([vector("x")] * (len(asked.texts) + 1)), r"answers with \d+ vectors for \d+ texts"),
    (lambda asked: answer([[0.0, 0.0]] * len(asked.texts)), "answers with vectors that are zero or not finite"),
    (lambda asked: answer([[]] * len(asked.texts)), "answers with a vector of 0 numbers"),
    (lambda asked: answer([[1.0] * 20_000] * len(asked.texts)), "answers with a vector of 20,000 numbers"),
    (lambda asked: answer([vector("x", n + 1) for n in range(len(asked.texts))]), "with vectors of different lengths"),
    (lambda asked: answer(["nothing"] * len(asked.texts)), "neither numbers nor base64"),
    (lambda asked: answer(["!"] * len(asked.texts)), "neither numbers nor base64"),
    (
        lambda asked: (200, {}, json.dumps({"data": [{"embedding": [1.0], "index": 0} for _ in asked.texts]}).encode()),
        "positions are wrong",
    ),
    (lambda _asked: refusal(401, {"message": f"Incorrect API key: {KEY}"}), r"wants a valid key \(HTTP status 401\)$"),
    (lambda _asked: refusal(403, "no"), r"refuses access \(HTTP status 403\)$"),
    (
        lambda _asked: refusal(
            404, {"message": 'model "m" not found, try pulling it first', "type": "not_found_error"}
        ),
        r'has no such model or address \(HTTP status 404\): model "m" not found, try pulling it first$',
    ),
    (lambda _asked: (404, {}, b"404 page not found"), r"\(HTTP status 404\): 404 page not found$"),
    (lambda _asked: (502, {}, b"<html><h1>Bad gateway</h1>"), r"fails \(HTTP status 502\)$"),
    (lambda _asked: refusal(500, {"message": f"key {KEY}\nline"}), r"fails \(HTTP status 500\): key \*\*\* line$"),
    (lambda _asked: (500, {}, b"key " + b" " * 3_180 + KEY.encode()), r"fails \(HTTP status 500\): key \*\*\*$"),
    (lambda _asked: (307, {"location": f"http://{KEY.upper()}.example/"}, b""), r"address, http://\*\*\*\.example/$"),
    (lambda _asked: refusal(500, f"{'x' * 98} {'y' * 999}"), r"fails \(HTTP status 500\): x{98}…$"),
    (lambda _asked: refusal(503, {"message": "Loading model", "code": 503}), "not available now .*: Loading model$"),
    (lambda _asked: refusal(500, {"code": 7}), r'\(HTTP status 500\): \{"code":7\}$'),
    (lambda _asked: (418, {}, b'{"detail": "tea"}'), r"refuses the request \(HTTP status 418\): tea$"),
    (lambda _asked: refusal(400, {"message": "no such model"}), r"refuses the request .*400\): no such model$"),
    (lambda _asked: None, "it closed the connection before the end of its answer"),
]


@pytest.mark.parametrize(("respond", "reason"), WRONG)
def test_wrong_answers_and_refusals(
    service: Service, new: New, respond: Callable[[Asked], Answer], reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("DEBUG")
    service.respond = respond
    encoder = new(key=KEY)
    with pytest.raises(EncodingError, match=reason) as raised:
        encoder.texts(["one", "two"])
    assert str(raised.value).startswith(f"127.0.0.1:{service.port} ")
    assert KEY not in f"{raised.value!r} {raised.value.__cause__!r} {caplog.text} {encoder!r}"


def test_one_vector_that_is_zero_is_missing(service: Service, new: New) -> None:
    service.respond = lambda asked: answer([[0.0] * NUMBERS if each == "bad" else vector(each) for each in asked.texts])
    encoder = new()
    rows = encoder.texts(["one", "bad"])
    assert numpy.isnan(rows[1]).all()
    assert rows[0] == pytest.approx(unit("one"), abs=1e-6)
    with pytest.raises(EncodingError, match="zero or not finite"):
        encoder.query("bad")


# Texts that are refused


def at_most(count: int, status: int = 413) -> Callable[[Asked], Answer]:
    def respond(asked: Asked) -> Answer:
        if len(asked.texts) > count:
            return refusal(status, f"batch size {len(asked.texts)} > maximum allowed batch size {count}")
        return usual(asked)

    return respond


@pytest.mark.parametrize("status", [400, 413, 422, 500])
def test_fewer_texts_are_sent_to_a_service_that_takes_few(service: Service, new: New, status: int) -> None:
    service.respond = at_most(3, status)
    encoder = new()
    texts = [str(number) for number in range(16)]
    assert encoder.texts(texts) == pytest.approx(numpy.stack([unit(each) for each in texts]), abs=1e-6)
    assert encoder.batch <= 3


def test_a_text_that_is_too_long_is_cut(service: Service, new: New) -> None:
    def respond(asked: Asked) -> Answer:
        if any(len(each) > 200 for each in asked.texts):
            return refusal(400, {"message": "the input length exceeds the context length"})
        return usual(asked)

    service.respond = respond
    rows = new().texts(["one", "x" * 600, "two"])
    assert rows == pytest.approx(numpy.stack([unit("one"), unit("x" * 150), unit("two")]), abs=1e-6)


def test_a_text_that_is_refused_alone_has_no_vector(service: Service, new: New) -> None:
    def respond(asked: Asked) -> Answer:
        return refusal(400, "no") if "bad" in asked.texts else usual(asked)

    service.respond = respond
    encoder = new()
    rows = encoder.texts(["one", "bad", "two"])
    assert numpy.isnan(rows[1]).all()
    assert rows[2] == pytest.approx(unit("two"), abs=1e-6)
    assert not encoder.query("bad").any()


def test_a_service_that_refuses_everything_is_not_blamed_on_a_text(service: Service, new: New) -> None:
    encoder = new()
    encoder.query("first")
    service.respond = lambda _asked: refusal(400, "the model is not loaded")
    with pytest.raises(EncodingError, match="the model is not loaded"):
        encoder.texts(["one", "two"])
    service.respond = usual
    assert encoder.texts(["one", "two"]) == pytest.approx(numpy.stack([unit("one"), unit("two")]), abs=1e-6)


# Pauses


@pytest.mark.parametrize(
    ("value", "seconds"), [("9" * 30, 300), ("Wed, 01 Jan 2200 00:00:00 GMT", 300), ("1.5", 2), ("soon", 0), ("", 0)]
)
def test_the_length_of_a_pause(service: Service, new: New, value: str, seconds: int) -> None:
    service.respond = lambda _asked: refusal(429, "no", retry_after=value)
    with pytest.raises(EncodingError) as raised:
        new().query("one")
    assert round(raised.value.pause_seconds) == seconds
    assert (f"a pause of {seconds} s" in str(raised.value)) is bool(seconds)


# The model


def test_a_model_is_measured_once(service: Service, new: New) -> None:
    first = new()
    first.query("one")
    assert [each for each in service.texts if each in {*FIXED}] == FIXED
    second = new()
    assert (second.identity, second.unrelated) == (first.identity, first.unrelated)
    second.query("two")
    assert service.texts[-2:] == [FIXED[0], "two"]


def test_what_changes_a_vector_changes_the_identity(service: Service, new: New) -> None:
    identities = {
        new().identity,
        new("other").identity,
        new(url=f"{service.url}/other").identity,
        new(url=f"http://localhost:{service.port}/v1").identity,
    }
    assert len(identities) == 4
    keys = {new(url=f"http://me:{word}@localhost:1/v1?key={word}", key=word).identity for word in ("first", "second")}
    assert len(keys) == 1


def test_a_measurement_that_cannot_be_kept_is_made_again(service: Service, new: New, tmp_path: Path) -> None:
    (tmp_path / "vectors.sqlite3").mkdir()
    for _ in range(2):
        new().query("one")
    assert service.texts.count(FIXED[0]) == 2


def test_a_measurement_of_zeros_is_not_kept(service: Service, new: New) -> None:
    service.respond = lambda asked: answer([[0.0] * 4 if each == FIXED[3] else vector(each, 4) for each in asked.texts])
    encoder = new()
    with pytest.raises(EncodingError, match="zero or not finite"):
        encoder.query("one")
    service.respond = usual
    encoder.query("one")


CHANGES = [
    lambda asked: answer([vector(each, 64) for each in asked.texts]),
    lambda asked: answer([vector(f"another {each}") for each in asked.texts]),
]


@pytest.mark.parametrize("respond", CHANGES)
def test_another_model_under_the_same_name(service: Service, new: New, respond: Callable[[Asked], Answer]) -> None:
    before = new()
    before.query("one")
    service.respond = respond
    noticing = new()
    for _ in range(2):
        with pytest.raises(ChangedError, match="makes other vectors for m than before, so all are made again"):
            noticing.query("one")
    after = new()
    assert after.identity != before.identity
    after.query("one")
    assert new().identity == after.identity


def test_another_model_while_a_process_runs(service: Service, new: New) -> None:
    encoder = new()
    encoder.query("one")
    service.respond = CHANGES[0]
    with pytest.raises(ChangedError):
        encoder.texts(["one"])
    service.respond = usual
    with pytest.raises(ChangedError):
        encoder.query("one")


# Addresses that are not used


@pytest.mark.parametrize("url", ["ftp://localhost/v1", "http://", "http://localhost:99999999/v1"])
def test_addresses_that_are_not_used(new: New, url: str) -> None:
    with pytest.raises(ModelError, match="the address of the vectors cannot be used"):
        new(url=url, key=KEY)
