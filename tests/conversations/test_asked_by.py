"""Questions to the user: they name the server, lead to safe pages only, and few of a server are open at once."""

import pytest

from conversations.back import Served
from conversations.eras import (
    legacy_backend,
    legacy_client,
    legacy_legacy,
    legacy_modern,
    modern_backend,
    modern_client,
    modern_legacy,
    modern_modern,
)
from conversations.front import Asked
from conversations.pair import Pair
from conversations.words import ROOTS, Json, accept, elicit, sample, sampled, text
from search_mcp.dialects.asking import MOST_COLONS, MOST_OPEN
from search_mcp.dialects.front.parked import MOST_QUESTIONS

CAN_ALL: Json = {"elicitation": {"form": {}, "url": {}}, "sampling": {"context": {}}, "roots": {}}
EXTENSION = "io.modelcontextprotocol/tasks"


def opens(pair: Pair) -> tuple[Asked, Served]:
    pair.front.opens(**CAN_ALL)
    call = pair.front.calls("alpha.echo")
    return call, pair.alpha.is_called("echo")


def url_question(pair: Pair, url: object, **more: object) -> Json:
    identified = {} if pair.alpha.is_modern else {"elicitationId": "e-1"}
    return {
        "method": "elicitation/create",
        "params": {"mode": "url", "message": "Sign in", **identified, "url": url, **more},
    }


def shown(pair: Pair) -> Json:
    """Expect a question next, in either form; return its params."""
    said = pair.front.next()
    if pair.front.is_modern:
        (request,) = said.body["result"]["inputRequests"].values()
        params: Json = request["params"]
        return params
    return said.params


def is_refused(pair: Pair, call: Asked, served: Served, key: str, words: str) -> None:
    """Expect that a question was refused: an error for the server, or for a modern one the end of its call."""
    if pair.alpha.is_modern:
        served.is_over()
        assert words in call.fails(-32000).body["error"]["message"]
        return
    said = pair.alpha.next()
    assert said.id == key
    assert words in said.body["error"]["message"]
    served.returns(text("without"))
    call.gets(text("without"))


@pytest.mark.parametrize("by_name", [False, True], ids=["called", "through call_tool"])
def test_a_question_says_which_server_asks(pair: Pair, by_name: bool) -> None:
    beta = pair.with_server("beta")
    pair.front.opens(**CAN_ALL)
    for back in (pair.alpha, beta):
        name = f"{back.name}.echo"
        call = pair.front.calls("call_tool", name=name, arguments={}) if by_name else pair.front.calls(name)
        back.asks(who=elicit("GitHub: enter your token"))
        call.is_asked(elicit("GitHub: enter your token"), by=back.name).answers(accept(name="x"))
        back.gets(who=accept(name="x"))
        back.returns(text("x"))
        call.gets(text("x"))


MESSAGES = [
    # as the server writes it (JSON), as the client is shown it
    pytest.param(b'"\\u0041 \\/ \\u2603"', b'"[alpha] \\u0041 \\/ \\u2603"', id="its bytes stay"),
    pytest.param(b'""', b'"[alpha] "', id="empty"),
    pytest.param(b'"[github] Token?"', b'"[alpha] [github] Token?"', id="another's name"),
    pytest.param(b'"\\n\\n\\r\\n \\t\\u3000\\u2800Token?"', b'"[alpha] Token?"', id="blank lines"),
    pytest.param(
        b'"\\u202e\\u2066\\u200f\\ufeff\\udb40\\udc41Token?"', b'"[alpha] Token?"', id="reordering, invisible"
    ),
    pytest.param(b'"A\\r[bank]\\u001b[2K\\b"', '"[alpha] A\ufffd[bank]\ufffd[2K\ufffd"'.encode(), id="cursor"),
    pytest.param(b'"A\\r\\nB\\tC"', b'"[alpha] A\\r\\nB\\tC"', id="lines and tabs stay"),
    pytest.param("שלום \u200fא".encode().join([b'"', b'"']), '"[alpha] שלום \u200fא"'.encode(), id="Hebrew stays"),
]


@pytest.mark.parametrize(("written", "then"), MESSAGES)
def test_nothing_in_a_message_hides_the_name_before_it(pair: Pair, written: bytes, then: bytes) -> None:
    call, served = opens(pair)
    schema = b'"requestedSchema":{"type":"object","properties":{ }}'
    question = b'{"method":"elicitation/create","params":{%b,"message":%b,"new":1.0}}' % (schema, written)
    if pair.alpha.is_modern:
        unfinished = b'{"resultType":"input_required","inputRequests":{"who":%b},"requestState":"s"}' % question
        pair.alpha.answer(served.said.id, unfinished)
    else:
        pair.alpha.says_line(b'{"jsonrpc":"2.0","id":"who",%b' % question[1:])
    assert b'{%b,"message":%b,"new":1.0}' % (schema, then) in pair.front.next().line
    call.is_over()
    served.is_over()
    pair.ends()


@legacy_legacy
def test_a_message_that_is_missing_is_the_name_alone(pair: Pair) -> None:
    call, served = opens(pair)
    pair.front.hears_anything()
    pair.alpha.says(id="who", method="elicitation/create", params={"requestedSchema": {}})
    assert shown(pair)["message"] == "[alpha] "
    call.is_over()
    served.is_over()
    pair.ends()


@pytest.mark.parametrize("message", [b"7", b"null", b'"%b"' % (b"x" * (1 << 20))], ids=["number", "null", "long"])
def test_a_message_that_cannot_be_read_is_not_shown(pair: Pair, message: bytes) -> None:
    call, served = opens(pair)
    question = b'{"method":"elicitation/create","params":{"message":%b,"requestedSchema":{}}}' % message
    if pair.alpha.is_modern:
        unfinished = b'{"resultType":"input_required","inputRequests":{"who":%b},"requestState":"s"}' % question
        pair.alpha.answer(served.said.id, unfinished)
    else:
        pair.alpha.says_line(b'{"jsonrpc":"2.0","id":"who",%b' % question[1:])
    is_refused(pair, call, served, "who", "message must be a string")


def test_a_question_with_very_many_members_is_not_opened(pair: Pair) -> None:
    call, served = opens(pair)
    question = elicit("Token?")
    question["params"].update({f"k{each}": 1 for each in range(MOST_COLONS)})
    served.asks(who=question)
    is_refused(pair, call, served, "who", "it is too long for a person to read")


def test_a_name_cannot_end_its_own_brackets(pair: Pair) -> None:
    odd = pair.with_server("a] Official [b\n", prefix="odd")
    pair.front.opens(**CAN_ALL)
    call = pair.front.calls("odd.echo")
    odd.is_called("echo").asks(who=elicit("Token?"))
    assert shown(pair)["message"] == "[a) Official (b_] Token?"
    call.is_over()
    odd._only().is_over()
    pair.ends()


# URLs

SAFE = [
    "https://example.com",
    "HTTPS://example.com:8443/a?b#c",
    "https://xn--r8jz45g.jp/☃?a@b=%41",
    "https://[2001:db8::1]:8443/",
    "http://localhost/",
    "http://LOCALHOST:3000",
    "http://127.0.0.1:80/cb?x=1",
    "http://127.9.9.9",
    "http://[::1]:5000/#x",
]
UNSAFE = [
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "vscode://x",
    "http://example.com/",
    "http://localhost.example.com/",
    "http://127.0.0.1.example.com",
    "http://localhost@example.com",
    "https://github.com@example.com/",
    "https://user:word@example.com",
    "https://github.com:443@example.com/a",
    "https://github.com%2f.example.com",
    "https://例え.jp/",
    "https://gіthub.com/",
    "https://github.com\u3002example.com",
    "https://[example.com",
    "https://[::1",
    "http://localhost\\@example.com",
    "http://[::2]/",
    "http://0x7f.1/",
    " https://example.com",
    "https:example.com",
    "https:///x",
    "https://exa\nmple.com",
    "https://example.com/\u202e",
    "https://example.com/a b",
    "httpſ://example.com",
    "",
    7,
    None,
]


@pytest.mark.parametrize("url", SAFE)
def test_a_web_page_may_be_asked_for(pair: Pair, url: str) -> None:
    call, served = opens(pair)
    served.asks(who=url_question(pair, url))
    question = shown(pair)
    assert (question["url"], question["message"]) == (url, "[alpha] Sign in")
    call.is_over()
    served.is_over()
    pair.ends()


@pytest.mark.parametrize("url", UNSAFE, ids=ascii)
def test_nothing_but_a_web_page_may_be_asked_for(pair: Pair, url: object) -> None:
    """ "MUST only allow `http://` and `https://` schemes", the former "only acceptable for loopback addresses"."""
    call, served = opens(pair)
    served.asks(who=url_question(pair, url))
    is_refused(pair, call, served, "who", "url must be an https address")


@legacy_legacy
def test_a_url_in_another_mode_is_no_way_around(pair: Pair) -> None:
    call, served = opens(pair)
    served.asks(who=url_question(pair, "javascript:alert(1)", mode="form"))
    is_refused(pair, call, served, "who", "url must be an https address")


@legacy_backend
@pytest.mark.parametrize("method", ["tools/call", "prompts/get", "resources/read"])
def test_questions_in_an_error_say_which_server_asks(pair: Pair, method: str) -> None:
    pair.alpha.prompts, pair.alpha.resources = [{"name": "echo"}], [{"uri": "x://1", "name": "1"}]
    pair.front.opens(**CAN_ALL)
    call = pair.front.asks(method, {"uri": "x://1"} if method == "resources/read" else {"name": "alpha.echo"})
    asked = [url_question(pair, f"https://example.com/{number}", elicitationId=f"{number}") for number in range(2)]
    data = {"z": 1.0, "elicitations": [each["params"] for each in asked], "a": None}
    pair.alpha.receives(method).fails(-32042, "URL elicitation required", data)
    said = pair.front.next()
    call.is_over()
    if pair.front.is_modern:
        questions = [each["params"] for each in said.body["result"]["inputRequests"].values()]
    else:
        assert said.body["error"]["data"] == {**data, "elicitations": said.body["error"]["data"]["elicitations"]}
        questions = said.body["error"]["data"]["elicitations"]
        assert [each["elicitationId"] for each in questions] == ["0", "1"]
    assert [each["message"] for each in questions] == ["[alpha] Sign in"] * 2


@legacy_backend
def test_an_error_that_asks_for_an_unsafe_url_is_another_error(pair: Pair) -> None:
    call, served = opens(pair)
    served.fails(-32042, "x", {"elicitations": [url_question(pair, "javascript:alert(1)")["params"]]})
    assert "url must be an https address" in call.fails(-32000).body["error"]["message"]


@legacy_backend
def test_more_urls_in_an_error_than_may_be_open_are_another_error(pair: Pair) -> None:
    call, served = opens(pair)
    asked = [url_question(pair, "https://example.com")["params"]] * (MOST_OPEN + 1)
    served.fails(-32042, "x", {"elicitations": asked})
    assert "more than 4 questions" in call.fails(-32000).body["error"]["message"]


@modern_client
@pytest.mark.parametrize("urls", [["https://example.com"], ["javascript:1"], ["https://example.com"] * (MOST_OPEN + 1)])
def test_questions_in_the_news_of_a_task_are_those_that_may_be_asked(pair: Pair, urls: list[str]) -> None:
    pair.alpha.more_capabilities = {"extensions": {EXTENSION: {}}}
    pair.front.opens(**CAN_ALL, extensions={EXTENSION: {}})
    task = {"taskId": "t", "status": "input_required", "createdAt": "x", "lastUpdatedAt": "x", "ttlMs": None}
    call = pair.front.calls("alpha.echo")
    pair.alpha.is_called("echo").returns({"resultType": "task", **task})
    call.gets({"resultType": "task", **task})
    listening = pair.front.asks("subscriptions/listen", {"notifications": {"taskIds": ["t"]}})
    pair.front.hears("notifications/subscriptions/acknowledged")
    asked = {
        f"q{number}": {"method": "elicitation/create", "params": {"mode": "url", "message": "?", "url": url}}
        for number, url in enumerate(urls)
    }
    method = "notifications/tasks" if pair.alpha.is_modern else "notifications/tasks/status"
    pair.alpha.notifies(method, **task, inputRequests=asked)
    if urls != ["https://example.com"]:
        pair.front.hears_nothing()
        return
    said = pair.front.hears("notifications/tasks")
    assert said.params["inputRequests"]["q0"]["params"]["message"] == "[alpha] ?"
    listening.is_over()


@modern_modern
def test_questions_in_a_task_say_which_server_asks(pair: Pair) -> None:
    """ "Hosts MUST apply the same trust model to these payloads as they would to standard" questions: SEP-2663."""
    pair.alpha.more_capabilities = {"extensions": {EXTENSION: {}}}
    pair.front.opens(**CAN_ALL, extensions={EXTENSION: {}})
    task = {"taskId": "t", "status": "input_required", "createdAt": "x", "lastUpdatedAt": "x", "ttlMs": None}
    for url, then in (("https://example.com", None), ("javascript:alert(1)", -32000)):
        asked = {"q": {"method": "elicitation/create", "params": {"mode": "url", "message": "?", "url": url}}}
        asking = pair.front.asks("tasks/get", {"taskId": "t"})
        pair.alpha.receives("tasks/get").returns({**task, "inputRequests": asked})
        if then is None:
            assert asking.result()["inputRequests"]["q"]["params"]["message"] == "[alpha] ?"
        else:
            asking.fails(then)


# Sampling


@pytest.mark.parametrize("context", ["thisServer", "allServers", "none", None, 7, "absent"])
def test_a_sampling_shares_no_context(pair: Pair, context: object) -> None:
    """To the client, `"thisServer"` is all servers behind search-mcp."""
    call, served = opens(pair)
    pair.front.hears_anything()
    question = sample("2 + 2?")
    if context != "absent":
        question["params"]["includeContext"] = context
    served.asks(what=question)
    expected = sample("2 + 2?")
    if context != "absent":
        expected["params"]["includeContext"] = "none"
    call.is_asked(expected).answers(sampled("4"))
    served.gets(what=sampled("4"))
    served.returns(text("x"))
    call.gets(text("x"))


# How many


@legacy_legacy
def test_a_question_beyond_those_that_may_be_open_is_refused_at_once(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.front.opens(**CAN_ALL)
    calls = [pair.front.calls("alpha.echo", number=number) for number in range(MOST_OPEN + 2)]
    served = [pair.alpha.is_called("echo", number=number) for number in range(MOST_OPEN + 2)]
    asked = []
    for number in range(MOST_OPEN):
        question = sample("?") if number % 2 else elicit("?")
        pair.alpha.says(id=number, **question)
        asked.append((calls[-1 - number].is_asked(question), sampled("x") if number % 2 else accept(name="x")))
    for question in (elicit("one more"), sample("one more"), ROOTS):
        pair.alpha.says(id="more", **question)
        error = pair.alpha.next().body["error"]
        assert (error["code"], error["message"].partition(":")[0]) == (-32000, "Too many questions")
        pair.front.hears_nothing()
    other = pair.front.calls("beta.echo")
    beta.asks(who=elicit("beta's"))
    other.is_asked(elicit("beta's"), by="beta").answers(accept(name="b"))
    beta.gets(who=accept(name="b"))
    for number, (each, answer) in enumerate(asked):
        each.answers(answer)
        assert pair.alpha.next().body == {"jsonrpc": "2.0", "id": number, "result": answer}
    pair.alpha.says(id="again", **elicit("?"))
    again = pair.front.next()
    assert again.method == "elicitation/create" or again.body["result"]["resultType"] == "input_required"
    for call in (*calls, other):
        call.is_over()
    for one in (*served, beta._only()):
        one.is_over()
    pair.ends()


@legacy_legacy
def test_a_question_that_was_withdrawn_or_whose_server_died_is_open_no_more(pair: Pair) -> None:
    call, served = opens(pair)
    for number in range(2 * MOST_OPEN):
        pair.alpha.says(id=number, **elicit("?"))
        assert pair.front.next().method == "elicitation/create"
        pair.alpha.notifies("notifications/cancelled", requestId=number)
        pair.front.hears("notifications/cancelled")
    for number in range(MOST_OPEN):
        pair.alpha.says(id=f"open {number}", **elicit("?"))
        pair.front.next()
    pair.alpha.exits(1)
    served.is_over()
    call.is_over()
    pair.after(10)
    pair.front.inbox.clear()
    pair.alpha.says(id="in the next channel", **elicit("?"))
    assert pair.front.next().method == "elicitation/create"


@modern_legacy
def test_the_oldest_question_to_a_modern_client_is_given_up_for_a_new_one(pair: Pair) -> None:
    """It drops a call without a word: nobody may be left to answer what was asked in it."""
    beta = pair.with_server("beta")
    pair.front.opens(**CAN_ALL)
    other_call = pair.front.calls("beta.echo")
    beta.asks(who=elicit("beta's"))
    of_beta = other_call.is_parked(elicit("beta's"), by="beta")
    calls = [pair.front.calls("alpha.echo", number=number) for number in range(MOST_QUESTIONS + 1)]
    served = [pair.alpha.is_called("echo", number=number) for number in range(MOST_QUESTIONS + 1)]
    parked = []
    for number in range(MOST_QUESTIONS):
        pair.alpha.says(id=number, **elicit(str(number)))
        parked.append(calls[-1 - number].is_parked(elicit(str(number))))
    pair.alpha.says(id="new", **elicit("new"))
    given_up(pair, 0)
    parked.append(calls[0].is_parked(elicit("new")))
    pair.alpha.says(id="newest", **elicit("newest"))  # in the call without an open question
    given_up(pair, 1)
    parked[0].retries(None)
    calls[-1].is_parked(elicit("newest")).answers(accept(name="x"))
    assert pair.alpha.next().body["id"] == "newest"
    for number, asked in enumerate(parked[2:], 2):
        asked.answers(accept(name="x"))
        assert pair.alpha.next().body["id"] in (number, "new")
    of_beta.answers(accept(name="b"))
    beta.gets(who=accept(name="b"))
    served[-2].returns(text("done without it"))
    parked[1].retries(None)
    calls[-2].gets(text("done without it"))
    for call in (*calls[:-2], calls[-1], other_call):
        call.is_over()
    for one in (*served[:-2], served[-1], beta._only()):
        one.is_over()
    pair.ends()


def given_up(pair: Pair, number: int) -> None:
    body = pair.alpha.next().body
    assert body["id"] == number
    assert body["error"]["message"].startswith("Too many questions")


@modern_backend
def test_an_answer_with_more_questions_than_may_be_open_ends_the_call(pair: Pair) -> None:
    call, served = opens(pair)
    served.asks(**{f"q{number}": elicit("?") for number in range(MOST_OPEN + 1)})
    is_refused(pair, call, served, "", "more than 4 questions at once")


@legacy_modern
def test_questions_of_several_calls_of_one_server_count_together(pair: Pair) -> None:
    pair.front.opens(**CAN_ALL)
    calls = [pair.front.calls("alpha.echo", number=number) for number in range(3)]
    served = [pair.alpha.is_called("echo", number=number) for number in range(3)]
    two = {"a": elicit("a"), "b": sample("b")}
    served[0].asks(**two)
    first = calls[0].is_interrupted(*two.values())
    served[1].asks(**two)
    second = calls[1].is_interrupted(*two.values())
    served[2].asks(**two)
    served[2].is_over()
    calls[2].fails(-32000, "Too many questions")
    first.answers(accept(name="a"), sampled("b"))
    served[0].gets(a=accept(name="a"), b=sampled("b"))
    served[0].asks(**two)  # two are open
    third = calls[0].is_interrupted(*two.values())
    calls[0].cancels()
    for _ in range(2):
        pair.front.hears("notifications/cancelled")
    assert third
    served[0].is_over()
    again = pair.front.calls("alpha.echo")
    repeated = pair.alpha.is_called("echo")
    repeated.asks(**two)
    again.is_interrupted(*two.values()).answers(accept(name="a"), sampled("b"))
    repeated.gets(a=accept(name="a"), b=sampled("b"))
    second.answers(accept(name="a"), sampled("b"))
    served[1].gets(a=accept(name="a"), b=sampled("b"))
    for one, call in ((repeated, again), (served[1], calls[1])):
        one.returns(text("x"))
        call.gets(text("x"))


# The ends of elicitations


@legacy_client
def test_the_end_of_an_elicitation_that_a_server_did_not_begin_is_not_told(pair: Pair) -> None:
    beta = pair.with_server("beta", "2025-11-25")
    pair.front.opens(**CAN_ALL)
    for identifier in ("e-1", "", 7, "x" * 5000):
        beta.notifies("notifications/elicitation/complete", elicitationId=identifier)
    beta.notifies("notifications/elicitation/complete")
    pair.front.hears_nothing()


@legacy_legacy
@pytest.mark.parametrize("in_error", [False, True], ids=["asked", "in an error"])
def test_two_elicitations_of_one_id_end_on_their_own(pair: Pair, in_error: bool) -> None:
    beta = pair.with_server("beta")
    pair.front.opens(**CAN_ALL)
    known = []
    for back in (pair.alpha, beta):
        question = url_question(pair, "https://example.com")
        call = pair.front.calls(f"{back.name}.echo")
        if in_error:
            back.is_called("echo").fails(-32042, "x", {"elicitations": [question["params"]]})
            known.append(call.fails(-32042).body["error"]["data"]["elicitations"][0]["elicitationId"])
        else:
            back.is_called("echo").asks(who=question)
            said = pair.front.next()
            known.append(said.params["elicitationId"])
            pair.front.says(id=said.id, result={"action": "accept"})
            back.gets(who={"action": "accept"})
            back.returns(text("x"))
            call.gets(text("x"))
    assert known[0] == "e-1" != known[1]
    for back, identifier in ((beta, known[1]), (pair.alpha, known[0])):
        back.notifies("notifications/elicitation/complete", elicitationId="e-1", _meta={"x.y/z": 1})
        pair.front.hears("notifications/elicitation/complete", elicitationId=identifier)
    beta.notifies("notifications/elicitation/complete", elicitationId=known[1])  # its name for nothing
    pair.front.hears_nothing()


@legacy_modern
def test_an_id_that_a_modern_server_writes_is_not_passed_on(pair: Pair) -> None:
    """ "Remove [...] the `elicitationId` field": it could be that of another server's elicitation."""
    call, served = opens(pair)
    served.asks(who=url_question(pair, "https://example.com", elicitationId="e-1"))
    assert shown(pair)["elicitationId"] != "e-1"
    call.is_over()
    served.is_over()
    pair.ends()
