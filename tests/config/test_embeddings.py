"""The address that makes vectors of texts: placeholders, secrets and faults."""

import json
from typing import Any

import pytest
from rich.pretty import pretty_repr

from config.samples import parse
from search_mcp.config import embeddings
from search_mcp.config.parsing import FaultyFile
from search_mcp.config.schema import Config, Embeddings, EmbeddingsAddress
from search_mcp.config.validation import json_schema

ADDRESS = {"url": "http://localhost:11434/v1", "model": "small"}


def config(semantic: object) -> Config:
    return parse(json.dumps({"mcpServers": {}, "settings": {"search": {"semantic": semantic}}}))


def address(**changes: Any) -> EmbeddingsAddress:
    found = config({**ADDRESS, **changes}).embeddings
    assert found is not None
    return found


@pytest.mark.parametrize("word", ["off", "local", None])
def test_a_word_or_nothing(word: str | None) -> None:
    found = config(word)
    assert (found.settings.search.semantic, found.embeddings, found.warnings) == (word, None, ())


def test_an_address_with_a_key_from_a_variable() -> None:
    found = address(apiKey="${TOKEN}", url="https://me:pass-word@example.com/v1?key=abcdefgh")
    assert (found.api_key, found.model, found.problem) == ("s3cret-token", "small", None)
    assert found.public_url == "https://***@example.com/v1?key=***"
    assert {"s3cret-token", "abcdefgh"} <= config({**ADDRESS, "url": found.url, "apiKey": "${TOKEN}"}).secrets
    assert found.written == Embeddings(url=found.url, model="small", api_key="${TOKEN}")


@pytest.mark.parametrize(
    ("written", "file"),
    [("~/ca.pem", "/home/ada/ca.pem"), ("ca.pem", "/etc/conf/ca.pem"), ("/a/${NAME_OF_CA:-b}", "/a/b"), ("", "")],
)
def test_a_file_of_certificates(written: str, file: str) -> None:
    found = address(url="https://example.com/v1", caFile=written)
    assert (found.ca_file, found.problem) == (file, None)
    assert found.written.ca_file == written


def test_no_representation_shows_a_key() -> None:
    found = config({**ADDRESS, "apiKey": "s3cret-key"})
    assert "s3cret-key" not in repr(found.settings) + repr(found.embeddings) + pretty_repr(found)
    assert found.redactor("x s3cret-key") == "x ***"


def test_a_key_from_a_source_is_filled_in_later() -> None:
    found = address(apiKey="${file:~/key}")
    assert found.unfilled is not None
    assert [(each.kind, each.argument, each.key) for each in found.unfilled.sources] == [("file", "~/key", "apiKey")]
    then = embeddings.filled(found, {("file", "~/key"): "s3cret-key"})
    assert (then.api_key, then.problem, then.unfilled) == ("s3cret-key", None, None)
    assert "s3cret-key" in then.secrets
    assert embeddings.filled(found, {("file", "~/key"): "a\nb"}).problem is not None


PROBLEMS = [
    # changes, the reason
    (
        {"url": "localhost:11434"},
        'the url in "semantic" is not an http or https address; write "http://localhost:11434/v1"',
    ),
    ({"model": " "}, '"semantic" names no model; write the name that the service uses, such as "nomic-embed-text"'),
    (
        {"url": "http://example.com/v1", "apiKey": "${TOKEN}"},
        'the key in "semantic" would be sent unencrypted to an http address; use its https address, or remove the key',
    ),
    (
        {"url": "http://192.168.1.2:11434/v1", "apiKey": "${file:~/key}"},
        'the key in "semantic" would be sent unencrypted to an http address; use its https address, or remove the key',
    ),
    (
        {"url": "http://me:pass-word@example.com/v1"},
        'the key in "semantic" would be sent unencrypted to an http address; use its https address, or remove the key',
    ),
    (
        {"apiKey": "a\u00e9bc"},
        'the key in "semantic" has a character that headers cannot have; write ASCII on one line',
    ),
    (
        {"caFile": "${file:~/ca}"},
        '${file:} in caFile is not supported; use it in "env", "args", "headers", "url" or "clientSecret"',
    ),
    (
        {"apiKey": "${ABSENT}"},
        (
            "environment variable ABSENT, used in apiKey, is not set; "
            "set it where search-mcp is started, or write ${ABSENT:-default}"
        ),
    ),
]


@pytest.mark.parametrize(("changes", "problem"), PROBLEMS)
def test_an_address_that_cannot_be_used_is_a_warning(changes: dict[str, str], problem: str) -> None:
    found = config({**ADDRESS, **changes})
    assert found.embeddings is not None
    assert found.embeddings.problem == problem
    (warning,) = found.warnings
    assert problem in warning


def test_an_unencrypted_address_is_a_warning() -> None:
    found = config({**ADDRESS, "url": "http://example.com/v1"})
    assert found.embeddings is not None
    assert found.embeddings.problem is None
    assert "unencrypted" in found.warnings[0]


FAULTS = [
    # value, the fault
    (False, '"semantic" must be "off", "local" or an object with url and model; write "off"'),
    ("on", '"semantic" must be "off", "local" or an object with url and model; write "local"'),
    ({"url": "http://localhost"}, '"model" must be a string; write "nomic-embed-text"'),
    ({**ADDRESS, "url": 5}, '"url" must be a string; write "http://localhost:11434/v1"'),
    ({**ADDRESS, "apiKey": 5}, '"apiKey" must be a string; write "${API_KEY}"'),
    ({**ADDRESS, "caFile": 5}, '"caFile" must be a string; write "~/corporate-ca.pem"'),
]


@pytest.mark.parametrize(("value", "fault"), FAULTS)
def test_a_wrong_value_is_a_fault_of_the_file(value: object, fault: str) -> None:
    with pytest.raises(FaultyFile) as raised:
        config(value)
    assert [f"{each.problem}; {each.remedy}" for each in raised.value.faults] == [fault]


def test_a_search_that_is_no_object_is_a_fault() -> None:
    with pytest.raises(FaultyFile, match='"search" must be an object'):
        parse('{"mcpServers": {}, "settings": {"search": "local"}}')


def test_unknown_keys_are_warnings() -> None:
    assert "did you mean" in config({**ADDRESS, "apikeys": "x"}).warnings[0]
    (warning,) = parse('{"mcpServers": {}, "settings": {"search": {"semantics": "off"}}}').warnings
    assert '"semantic"' in warning


def test_the_schema_has_the_setting() -> None:
    assert {"Search", "Embeddings"} <= json_schema()["$defs"].keys()
