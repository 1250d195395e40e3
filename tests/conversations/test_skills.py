"""Skills (the extension io.modelcontextprotocol/skills): listed from all servers, and read where they are listed.

A client compares the files of a skill with the digests in its entry, so entries are passed on byte for byte, and a
skill's files are read at the server that listed it. There is no notification of its own: the list is re-read with the
resources, and a change is told as one of theirs.
"""

from pathlib import Path
from typing import Any

import pytest

from conversations.back import CACHED, Back, answers, leaves_to_the_test, refuses
from conversations.eras import modern_client, modern_legacy, modern_modern
from conversations.pair import Pair
from conversations.transcript import Said
from conversations.words import SKILLS, Json, names, text, tool
from search_mcp.catalog import list_limits

RESOURCES_CHANGED = "notifications/resources/list_changed"


def skill(path: str, description: str = "Does it.", scheme: str = "skill", **more: Any) -> Json:
    uri = f"{scheme}://{path}/SKILL.md"
    file = {"uri": uri, "digest": f"sha256:{'0' * 64}", "size": 3}
    frontmatter = {"name": path.rpartition("/")[2], "description": description}
    return {"uri": uri, "frontmatter": frontmatter, "resources": [file], **more}


REFUNDS, INVOICES = skill("refunds", "Handle refund requests."), skill("acme/invoices", "Write invoices.")
READ: Json = {"contents": [{"uri": "skill://refunds/a.md", "text": "☃"}]}


def listed(pair: Pair) -> list[Json]:
    skills: list[Json] = pair.front.asks("skills/list").result()["skills"]
    return skills


def reads_at(pair: Pair, back: Back, uri: str) -> None:
    reading = pair.front.asks("resources/read", {"uri": uri})
    back.receives("resources/read", uri=uri).returns(READ)
    reading.gets(READ)


# What is declared


@pytest.mark.parametrize(("of_alpha", "of_beta"), [(False, False), (True, False), (False, True)])
def test_skills_are_declared_with_what_a_server_can_do(
    pair: Pair, tmp_path: Path, *, of_alpha: bool, of_beta: bool
) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills, pair.alpha.reads_directories = [REFUNDS], of_alpha
    beta.skills, beta.reads_directories = [], of_beta
    pair.was_here_before(tmp_path)
    pair.front.opens()
    declared = pair.front.opening["capabilities"]
    assert declared["extensions"] == {SKILLS: {"directoryRead": True} if of_alpha or of_beta else {}}
    assert declared["resources"]["listChanged"] is True


def test_skills_without_the_capability_for_resources_are_declared_with_it(pair: Pair, tmp_path: Path) -> None:
    """ "A server declaring this extension therefore MUST also declare the `resources` capability." """
    pair.alpha.skills, pair.alpha.capabilities = [REFUNDS], lambda: {"tools": {}, "extensions": {SKILLS: {}}}  # type: ignore[method-assign]
    pair.was_here_before(tmp_path)
    pair.front.opens()
    assert "resources" in pair.front.opening["capabilities"]
    assert listed(pair) == [REFUNDS]


def test_skills_are_declared_while_a_server_is_unknown_since_an_empty_list_harms_nobody(pair: Pair) -> None:
    """A legacy client asks once in a session. Directories are not: only a server that declares them may be asked."""
    pair.alpha.on("skills/list", leaves_to_the_test)
    pair.alpha.on(pair.alpha.opening, leaves_to_the_test)
    if pair.front.is_modern:
        pair.front.opening = pair.front.asks("server/discover").result()
    else:
        pair.front.initializes()
    assert pair.front.opening["capabilities"]["extensions"] == {SKILLS: {}}
    listing = pair.front.asks("skills/list")
    pair.alpha.opens()
    assert listing.result()["skills"] == []
    pair.front.asks("skills/list").fails(-32601)


@pytest.mark.parametrize("declared", [None, True, "yes", []])
def test_without_a_server_that_has_skills_there_are_none(pair: Pair, tmp_path: Path, declared: object) -> None:
    """ "Clients issue `skills/list` and `skills/get` only after observing the server's declaration." """
    if declared is not None:
        pair.alpha.more_capabilities = {"extensions": {SKILLS: declared}}
    pair.was_here_before(tmp_path)
    pair.front.opens()
    assert SKILLS not in pair.front.opening["capabilities"].get("extensions", {})
    pair.front.asks("skills/list").fails(-32601)
    pair.front.asks("skills/get", {"uri": "skill://refunds/SKILL.md"}).fails(-32601)
    pair.front.asks("resources/directory/read", {"uri": "skill://refunds"}).fails(-32601)
    assert "skills/list" not in pair.alpha.methods()


def test_a_server_that_declares_skills_alone_is_asked_for_all_lists(pair: Pair) -> None:
    """Simple servers forget to declare; a server without skills is never asked for them."""
    beta = pair.with_server("beta")
    pair.alpha.skills, pair.alpha.capabilities = [REFUNDS], lambda: {"extensions": {SKILLS: {}}}  # type: ignore[method-assign]
    beta.capabilities = dict  # type: ignore[method-assign]
    pair.front.opens()
    assert "alpha.echo" in names(pair.front.tools)
    assert listed(pair) == [REFUNDS]
    assert {"prompts/list", "resources/list", "skills/list"} <= set(pair.alpha.methods())
    assert "skills/list" not in beta.methods()


# skills/list


def test_skills_of_all_servers_are_listed_in_order_and_byte_for_byte(pair: Pair) -> None:
    first = (
        '{"uri":"skill://a/SKILL.md","frontmatter":{ "description":"\\u2603 ☃","name":"a","x":[1.0,1E2,{"b":1}] },'
        '"resources":"dynamic","_meta":{"x.y/z":1.0},"new":null}'
    ).encode()
    second, third = (
        b'{"resources":[],"frontmatter":{"name":"%b","description":""},"uri":"skill://%b/SKILL.md"}' % (each, each)
        for each in (b"b", b"c")
    )

    def gives_two_pages(back: Back, said: Said) -> None:
        is_second = said.params.get("cursor") == "2"
        more = b"" if is_second else b',"nextCursor":"2"'
        back.answer(said.id, b'{"skills":[%b]%b}' % (second if is_second else first, more), **CACHED)

    pair.alpha.on("skills/list", gives_two_pages)
    beta = pair.with_server("beta")
    beta.on("skills/list", lambda back, said: back.answer(said.id, b'{"skills":[%b]}' % third, **CACHED))
    pair.with_server("gamma")
    pair.alpha.skills = beta.skills = []
    pair.front.opens()
    pair.front.asks("skills/list").gets(b'{"skills":[%b]}' % b",".join((first, second, third)))


def test_skills_of_one_name_are_all_listed(pair: Pair) -> None:
    """ "Hosts MUST disambiguate them ... rather than silently discarding or preferring one." """
    others = skill("acme/refunds"), skill("beta/refunds")
    beta = pair.with_server("beta")
    pair.alpha.skills, beta.skills = [REFUNDS, others[0]], [others[1]]
    pair.front.opens()
    assert listed(pair) == [REFUNDS, *others]


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({**REFUNDS, "frontmatter": {"name": "refunds"}}, id="no description"),
        pytest.param({**REFUNDS, "frontmatter": None}, id="no frontmatter"),
        pytest.param({**REFUNDS, "resources": "static"}, id="another word"),
        pytest.param({**REFUNDS, "resources": [{"uri": "skill://refunds/SKILL.md"}]}, id="a file without a digest"),
        pytest.param({**REFUNDS, "uri": "skill://refunds/README.md"}, id="no SKILL.md"),
        pytest.param({**REFUNDS, "uri": "file:///SKILL.md"}, id="no directory"),
        pytest.param({"uri": 7}, id="no uri"),
        pytest.param(7, id="no object"),
    ],
)
def test_an_entry_that_clients_would_refuse_is_left_out_alone_with_a_remark(pair: Pair, broken: Any) -> None:
    pair.alpha.skills = [broken, INVOICES]
    pair.front.opens()
    assert listed(pair) == [INVOICES]
    pair.after(1)
    (warning,) = pair.transcript.warnings
    assert "! alpha: skills" in warning


def test_a_cursor_that_was_not_given_is_refused(pair: Pair) -> None:
    pair.alpha.skills = []
    pair.front.opens()
    pair.front.asks("skills/list", {"cursor": "x"}).fails(-32602)


def test_too_many_skills_are_cut_behind_tools_and_before_resources(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(list_limits, "MOST_ENTRIES", 12)
    skills = [skill(f"s{each}") for each in range(15)]
    pair.alpha.skills, pair.alpha.resources = skills, [{"uri": "x://1", "name": "1"}]
    pair.front.opens()
    assert listed(pair) == skills[:10]  # and two tools
    assert pair.front.asks("resources/list").result()["resources"] == []
    pair.after(1)
    assert any("skills: the first 10 are taken and the others are left out" in e for e in pair.transcript.warnings)


def test_a_list_that_cannot_be_had_costs_nothing_else(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills, beta.skills = [], [REFUNDS]
    pair.alpha.on("skills/list", refuses(-32603, "sorry"))
    pair.front.opens()
    assert listed(pair) == [REFUNDS]


@modern_modern
def test_the_list_is_as_fresh_as_its_stalest_part(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills = beta.skills = []
    for back, ttl, scope in ((pair.alpha, 900, "public"), (beta, 50, "private")):
        back.on("skills/list", answers({"skills": [], "ttlMs": ttl, "cacheScope": scope}))
    result = pair.front.asks("skills/list").result()
    assert (result["ttlMs"], result["cacheScope"]) == (50, "private")


@modern_client
def test_a_skill_is_as_fresh_as_its_server_says(pair: Pair) -> None:
    """ "`ttlMs` and `cacheScope` are REQUIRED"; a legacy server gives none, so nothing is kept."""
    pair.alpha.skills = [REFUNDS]
    pair.front.opens()
    getting = pair.front.asks("skills/get", {"uri": REFUNDS["uri"]})
    hints: Json = {"ttlMs": 70, "cacheScope": "public"} if pair.alpha.is_modern else {}
    served = pair.alpha.receives("skills/get", uri=REFUNDS["uri"])
    pair.alpha.answer(served.said.id, {"skill": REFUNDS, **hints})
    served.is_over()
    result = getting.result()
    expected = (70, "public") if pair.alpha.is_modern else (0, "private")
    assert (result["ttlMs"], result["cacheScope"]) == expected


# Whose a skill is


def test_a_skill_that_two_servers_list_is_that_of_the_first_and_the_user_is_told(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills, beta.skills = [REFUNDS], [{**REFUNDS, "resources": "dynamic"}, INVOICES]
    pair.front.opens()
    assert listed(pair) == [REFUNDS, INVOICES]
    for path in ("SKILL.md", "references/a.md"):
        reads_at(pair, pair.alpha, f"skill://refunds/{path}")
    getting = pair.front.asks("skills/get", {"uri": REFUNDS["uri"]})
    pair.alpha.receives("skills/get", uri=REFUNDS["uri"]).returns({"skill": REFUNDS})
    getting.gets({"skill": REFUNDS})
    pair.after(1)
    (warning,) = pair.transcript.warnings
    assert all(each in warning for each in ("! beta", "skill://refunds/SKILL.md", "'alpha'"))


def test_a_skill_is_read_at_its_server_whatever_later_servers_list(pair: Pair) -> None:
    """Or else digests of one server would be compared with files of another."""
    beta = pair.with_server("beta")
    pair.alpha.skills = [REFUNDS]
    beta.resources = [{"uri": "skill://refunds/a.md", "name": "a"}]
    beta.templates = [{"uriTemplate": "skill://refunds/references/{x}", "name": "x"}]
    beta.skills = [skill("refunds/references/nested")]
    pair.front.opens()
    assert listed(pair) == [REFUNDS]
    for path in ("SKILL.md", "a.md", "references/b.md", "references/nested/SKILL.md"):
        reads_at(pair, pair.alpha, f"skill://refunds/{path}")


@pytest.mark.parametrize(
    ("uri", "first"),
    [
        ("file:///home/.env", "skills"),
        ("file:///home/.env", "files"),
        ("skill://home/a.md", "files"),
    ],
)
def test_no_skill_takes_a_folder_in_which_another_server_has_files(pair: Pair, uri: str, first: str) -> None:
    """Whoever is first, where the scheme is not meant for skills; else the first."""
    scheme, _, path = uri.partition("://")
    taker = skill(f"{path.rpartition('/')[0]}", scheme=scheme)
    backs = {"alpha": pair.alpha, "beta": pair.with_server("beta")}
    skills, files = (backs["alpha"], backs["beta"]) if first == "skills" else (backs["beta"], backs["alpha"])
    skills.skills, files.resources = [taker, INVOICES], [{"uri": uri, "name": "f"}]
    pair.front.opens()
    assert listed(pair) == [INVOICES]
    reads_at(pair, files, uri)


def test_a_file_that_no_list_holds_is_read_at_the_skills_server(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills, beta.skills = [INVOICES], [skill("acme/repos/refunds", scheme="github")]
    pair.alpha.templates = [{"uriTemplate": "github://{+path}", "name": "all"}]
    pair.front.opens()
    reads_at(pair, pair.alpha, "skill://acme/invoices/references/a.md")
    reads_at(pair, beta, "github://acme/repos/refunds/references/a.md")
    reads_at(pair, pair.alpha, "github://acme/repos/other.md")


# skills/get


def test_a_skill_is_got_from_its_server_byte_for_byte(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills, beta.skills = [REFUNDS], [INVOICES]
    pair.front.opens()
    result = b'{"skill":{"uri":"%b","frontmatter":{"name":"invoices", "description":"\\u2603"},"resources":"dynamic"}}'
    result %= INVOICES["uri"].encode()
    getting = pair.front.asks("skills/get", {"uri": INVOICES["uri"]})
    beta.receives("skills/get", uri=INVOICES["uri"]).returns(result)
    getting.gets(result)
    pair.alpha.hears_nothing()


def test_a_skill_that_is_not_listed_is_asked_for_in_order_and_then_read_at_its_server(pair: Pair) -> None:
    """ "A server MUST answer for every skill it serves, whether or not that skill appears in its `skills/list`"."""
    beta, gamma = pair.with_server("beta"), pair.with_server("gamma")
    pair.with_server("delta").resources = [{"uri": "x://1", "name": "1"}]
    pair.alpha.skills, beta.skills, gamma.skills = [REFUNDS], [], [INVOICES]
    pair.front.opens()
    hidden = skill("hidden/one")
    getting = pair.front.asks("skills/get", {"uri": hidden["uri"]})
    pair.alpha.receives("skills/get", uri=hidden["uri"]).fails(-32602, "no such skill")
    beta.receives("skills/get", uri=hidden["uri"]).returns({"skill": hidden})
    getting.gets({"skill": hidden})
    reads_at(pair, beta, "skill://hidden/one/references/a.md")
    again = pair.front.asks("skills/get", {"uri": hidden["uri"]})
    beta.receives("skills/get", uri=hidden["uri"]).returns({"skill": hidden})
    again.gets({"skill": hidden})
    assert listed(pair) == [REFUNDS, INVOICES]


def test_a_skill_of_nobody_is_not_found(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills, beta.skills = [REFUNDS], []
    pair.front.opens()
    uri = "skill://refund/SKILL.md"
    getting = pair.front.asks("skills/get", {"uri": uri})
    for back in (pair.alpha, beta):
        back.receives("skills/get", uri=uri).fails(-32602, "no such skill")
    getting.fails(-32602, f"Skill not found: {uri}", {"uri": uri, "suggestions": [REFUNDS["uri"]]})


def test_an_error_of_a_server_that_may_have_the_skill_is_passed_on(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills = beta.skills = []
    pair.front.opens()
    getting = pair.front.asks("skills/get", {"uri": "skill://x/SKILL.md"})
    pair.alpha.receives("skills/get").fails(-32603, "out of order", {"a": 1})
    beta.receives("skills/get").fails(-32602, "no such skill")
    getting.fails(-32603, "out of order", {"a": 1})


def test_a_skill_in_a_directory_of_another_server_is_not_given(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.resources, beta.skills = [{"uri": "skill://x/a.md", "name": "a"}], []
    pair.front.opens()
    getting = pair.front.asks("skills/get", {"uri": "skill://x/SKILL.md"})
    beta.receives("skills/get").returns({"skill": skill("x")})
    getting.fails(-32602, "Skill not found: skill://x/SKILL.md")


def test_a_search_for_a_skill_is_cancelled_at_the_server_that_is_asked(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills = beta.skills = []
    pair.front.opens()
    getting = pair.front.asks("skills/get", {"uri": "skill://x/SKILL.md"})
    pair.alpha.receives("skills/get").fails(-32602, "no such skill")
    served = beta.receives("skills/get")
    getting.cancels()
    served.is_cancelled()


def test_a_server_that_is_removed_during_a_search_is_not_asked(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills = beta.skills = []
    pair.front.opens()
    getting = pair.front.asks("skills/get", {"uri": "skill://x/SKILL.md"})
    served = pair.alpha.receives("skills/get")
    del pair.backs["beta"]
    pair.edit()
    served.fails(-32602, "no such skill")
    getting.fails(-32602, "Skill not found: skill://x/SKILL.md")


@pytest.mark.parametrize("seconds", [0, 300], ids=["it is started again later", "it is given up"])
def test_a_server_that_does_not_run_ends_no_search(pair: Pair, seconds: float) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills, beta.skills = [], []
    pair.front.opens()
    pair.alpha.on_opening(refuses(-32603, "no"))
    pair.alpha.exits(1)
    pair.after(seconds)
    getting = pair.front.asks("skills/get", {"uri": "skill://x/SKILL.md"})
    pair.after(60)
    beta.receives("skills/get").returns({"skill": skill("x")})
    getting.gets({"skill": skill("x")})


def test_a_skill_of_a_server_that_does_not_run_may_be_there_later(pair: Pair) -> None:
    """So it is not said to be unknown."""
    beta = pair.with_server("beta")
    pair.alpha.skills, beta.skills = [], []
    pair.front.opens()
    pair.alpha.on_opening(refuses(-32603, "no"))
    pair.alpha.exits(1)
    pair.after(300)
    getting = pair.front.asks("skills/get", {"uri": "skill://x/SKILL.md"})
    pair.after(60)
    beta.receives("skills/get").fails(-32602, "no such skill")
    getting.fails(-32000, "MCP server 'alpha' is not running")


@pytest.mark.parametrize("method", ["skills/get", "resources/directory/read"])
@pytest.mark.parametrize("params", [{}, {"uri": 7}, {"uri": ""}])
def test_malformed_params_are_refused(pair: Pair, method: str, params: Json) -> None:
    pair.alpha.skills, pair.alpha.reads_directories = [], True
    pair.front.opens()
    pair.front.asks(method, params).fails(-32602)


def test_a_skill_is_waited_for_while_its_server_starts(pair: Pair) -> None:
    pair.alpha.skills, pair.with_server("beta").skills = [REFUNDS], []
    pair.alpha.on("skills/list", leaves_to_the_test)
    if not pair.front.is_modern:
        pair.front.initializes()
    getting = pair.front.asks("skills/get", {"uri": REFUNDS["uri"]})
    pair.front.hears_nothing()
    pair.alpha.receives("skills/list").returns({"skills": [REFUNDS]})
    pair.alpha.receives("skills/get", uri=REFUNDS["uri"]).returns({"skill": REFUNDS})
    getting.gets({"skill": REFUNDS})


# resources/directory/read


def test_a_directory_is_read_at_the_server_of_the_skill_page_by_page(pair: Pair) -> None:
    beta = pair.with_server("beta")
    for back, skills in ((pair.alpha, [REFUNDS]), (beta, [INVOICES])):
        back.skills, back.reads_directories = skills, True
    pair.front.opens()
    uri = "skill://acme/invoices/references"
    child = {"uri": f"{uri}/deep", "name": "deep", "mimeType": "inode/directory", "new": 1.0}
    for cursor, more in ((None, {"nextCursor": "p 2"}), ("p 2", {})):
        params: Json = {"uri": uri} if cursor is None else {"uri": uri, "cursor": cursor}
        reading = pair.front.asks("resources/directory/read", params)
        beta.receives("resources/directory/read", **params).returns({"resources": [child], **more})
        reading.gets({"resources": [child], **more})
    reading = pair.front.asks("resources/directory/read", {"uri": "skill://refunds"})
    pair.alpha.receives("resources/directory/read", uri="skill://refunds").fails(-32602, "no directory", {"a": 1})
    reading.fails(-32602, "no directory", {"a": 1})


def test_a_server_that_does_not_declare_directories_is_not_asked(pair: Pair) -> None:
    """ "Clients MUST NOT call `resources/directory/read` against a server that has not declared `directoryRead`"."""
    beta = pair.with_server("beta")
    pair.alpha.skills, beta.skills, beta.reads_directories = [REFUNDS], [INVOICES], True
    pair.front.opens()
    pair.front.asks("resources/directory/read", {"uri": "skill://refunds"}).fails(
        -32602, "Directory not found: skill://refunds"
    )
    reading = pair.front.asks("resources/directory/read", {"uri": "repo://main/src"})
    beta.receives("resources/directory/read", uri="repo://main/src").returns({"resources": []})
    reading.gets({"resources": []})


def test_a_directory_is_waited_for_while_its_server_starts(pair: Pair) -> None:
    for back in (pair.alpha, pair.with_server("beta")):
        back.skills, back.reads_directories = [], True
    pair.alpha.on("skills/list", leaves_to_the_test)
    if not pair.front.is_modern:
        pair.front.initializes()
    reading = pair.front.asks("resources/directory/read", {"uri": "skill://refunds"})
    pair.front.hears_nothing()
    pair.alpha.receives("skills/list").returns({"skills": [REFUNDS]})
    pair.alpha.receives("resources/directory/read", uri="skill://refunds").returns({"resources": []})
    reading.gets({"resources": []})


def test_a_directory_of_nobody_is_not_found(pair: Pair) -> None:
    for back in (pair.alpha, pair.with_server("beta")):
        back.skills, back.reads_directories = [], True
    pair.front.opens()
    uri = "skill://nothing"
    pair.front.asks("resources/directory/read", {"uri": uri}).fails(
        -32602, f"Directory not found: {uri}", {"uri": uri, "suggestions": []}
    )


def test_no_directory_is_read_where_none_was_declared(pair: Pair) -> None:
    pair.alpha.skills = [REFUNDS]
    pair.front.opens()
    pair.front.asks("resources/directory/read", {"uri": "skill://refunds"}).fails(-32601)


# Changes, restarts and the cache


def hears_of_changes(pair: Pair) -> None:
    if pair.front.is_modern:
        pair.front.asks("subscriptions/listen", {"notifications": {"resourcesListChanged": True}})
        pair.front.hears("notifications/subscriptions/acknowledged", notifications={"resourcesListChanged": True})


def test_a_change_of_resources_is_one_of_skills(pair: Pair) -> None:
    pair.alpha.skills = [REFUNDS]
    pair.front.opens()
    hears_of_changes(pair)
    assert listed(pair) == [REFUNDS]
    pair.alpha.skills = [REFUNDS, INVOICES]
    pair.alpha.changes("resources")
    pair.after(1)
    assert {each.method for each in pair.front.inbox} == {RESOURCES_CHANGED}
    pair.front.inbox.clear()
    assert listed(pair) == [REFUNDS, INVOICES]


@pytest.mark.parametrize("method", ["resources/read", "resources/directory/read", "skills/get"])
def test_a_skill_that_was_just_announced_is_used_at_its_server(pair: Pair, method: str) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills, beta.skills = [REFUNDS], [INVOICES]
    pair.alpha.reads_directories = beta.reads_directories = True
    pair.front.opens()
    new = skill("new")
    pair.alpha.on("skills/list", leaves_to_the_test)
    pair.alpha.changes("resources")
    pair.after(0.1)
    asked = pair.front.asks(method, {"uri": new["uri"]})
    pair.alpha.receives("skills/list").returns({"skills": [new]})
    key = {"resources/read": "contents", "resources/directory/read": "resources"}.get(method)
    result: Json = {"skill": new} if key is None else {key: []}
    pair.alpha.receives(method, uri=new["uri"]).returns(result)
    pair.front.inbox = [each for each in pair.front.inbox if each.method is None]
    asked.gets(result)
    pair.after(1)
    pair.front.inbox.clear()


def test_skills_that_changed_unannounced_are_read_again_when_they_are_listed(pair: Pair) -> None:
    pair.alpha.skills = [REFUNDS]
    pair.front.opens()
    hears_of_changes(pair)
    pair.alpha.skills = [INVOICES]
    pair.after(2)
    assert listed(pair) == [REFUNDS]
    pair.after(1)
    pair.front.hears(RESOURCES_CHANGED)
    assert listed(pair) == [INVOICES]


def test_skills_of_a_server_that_is_switched_off_go_and_those_of_a_restarted_one_are_new(pair: Pair) -> None:
    beta = pair.with_server("beta")
    pair.alpha.skills, beta.skills = [REFUNDS], [INVOICES]
    pair.front.opens()
    hears_of_changes(pair)
    assert listed(pair) == [REFUNDS, INVOICES]
    beta.config = {"enabled": False}
    pair.edit()
    pair.after(1)
    assert RESOURCES_CHANGED in {each.method for each in pair.front.inbox}
    pair.front.inbox.clear()
    assert listed(pair) == [REFUNDS]
    pair.alpha.skills = [skill("new")]
    pair.alpha.exits(1)
    pair.after(60)
    assert {each.method for each in pair.front.inbox} == {RESOURCES_CHANGED}
    pair.front.inbox.clear()
    assert listed(pair) == [skill("new")]


def test_remembered_skills_are_listed_and_found_before_their_server_answers(pair: Pair, tmp_path: Path) -> None:
    pair.alpha.skills, pair.alpha.reads_directories = [REFUNDS], True
    pair.was_here_before(tmp_path)
    pair.alpha.starts_slowly(30)
    pair.front.opens()
    assert pair.front.opening["capabilities"]["extensions"] == {SKILLS: {"directoryRead": True}}
    assert listed(pair) == [REFUNDS]
    getting = pair.front.asks("skills/get", {"uri": REFUNDS["uri"]})
    pair.after(31)
    pair.alpha.receives("skills/get", uri=REFUNDS["uri"]).returns({"skill": REFUNDS})
    getting.gets({"skill": REFUNDS})


def test_skills_that_are_remembered_of_another_kind_of_client_are_declared(pair: Pair, tmp_path: Path) -> None:
    """The extension knows no declaration of a client."""
    pair.alpha.skills, pair.alpha.reads_directories = [REFUNDS], True
    pair.was_here_before(tmp_path)
    pair.front.capabilities = {"elicitation": {}}
    pair.front.opens(elicitation={})
    assert pair.front.opening["capabilities"]["extensions"] == {SKILLS: {"directoryRead": True}}


# Search


def test_a_search_finds_skills_and_says_that_they_are_none_of_the_tools(pair: Pair) -> None:
    pair.alpha.tools = [tool("send_mail", "Send a mail.")]
    pair.alpha.skills = [REFUNDS]
    pair.front.opens()
    found = pair.front.calls("search_tools", query="refund").result()
    assert found["content"][0]["text"].splitlines()[:3] == [
        "1. skill refunds (server alpha)",
        "   Handle refund requests.",
        "   instructions to read as a resource, not a tool to call: skill://refunds/SKILL.md",
    ]
    (result,) = found["structuredContent"]["results"]
    assert result.startswith("skill refunds (server alpha): Handle refund requests.")
    everything = pair.front.calls("search_tools", query="", detail="name").result()["structuredContent"]["results"]
    assert [each.partition(" (")[0] for each in everything] == ["alpha.send_mail", "skill refunds"]
    servers = pair.front.calls("list_servers").result()["structuredContent"]["servers"]
    assert (servers[0]["tools"], servers[0]["skills"]) == (1, 1)


@pytest.mark.parametrize("name", ["refunds", "skill refunds", "skill://refunds/SKILL.md"])
def test_a_skill_cannot_be_called_and_its_description_says_what_it_is(pair: Pair, name: str) -> None:
    pair.alpha.skills = [REFUNDS]
    pair.front.opens()
    (unknown,) = pair.front.calls("describe_tools", names=[name]).result()["structuredContent"]["unknown"]
    assert unknown["name"] == name
    assert unknown["reason"].startswith(
        "skill refunds (server alpha): instructions to read as a resource, not a tool to call"
    )
    pair.front.calls("call_tool", name=name).fails(-32602)
    pair.front.calls(name).fails(-32602)


def test_a_tool_comes_before_a_skill_of_the_same_name_and_is_what_is_described(pair: Pair) -> None:
    pair.alpha.skills, beta = [REFUNDS], pair.with_server("beta")
    beta.tools = [tool("refunds", "Handle refund requests.")]
    pair.front.opens()
    results = pair.front.calls("search_tools", query="refunds", detail="name").result()["structuredContent"]["results"]
    assert [each.partition(" (")[0] for each in results] == ["beta.refunds", "skill refunds"]
    described = pair.front.calls("describe_tools", names=["beta.refunds"]).result()["structuredContent"]
    assert names(described["tools"]) == ["beta.refunds"]
    pair.front.calls("beta.refunds")
    beta.is_called("refunds").returns(text("x"))
    pair.front.gets(text("x"))


@modern_legacy
def test_a_search_waits_for_the_first_skills(pair: Pair) -> None:
    pair.alpha.skills = [REFUNDS]
    pair.alpha.on("skills/list", leaves_to_the_test)
    search = pair.front.calls("search_tools", query="refund")
    pair.front.hears_nothing()
    pair.alpha.receives("skills/list").returns({"skills": [REFUNDS]})
    assert "skill refunds" in search.result()["content"][0]["text"]
