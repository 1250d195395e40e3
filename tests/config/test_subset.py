"""Expressions that select servers: what they mean, and what is said of those that mean too little."""

from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_mcp.config.schema import Config, ServerConfig, Settings
from search_mcp.config.subset import EVERYTHING, Selector, Subset, parse
from search_mcp.model.errors import ConfigError

SERVERS = {"git": ("work", "code"), "github": ("work",), "jira": ("work",), "time": (), "memory": ("home",)}


def config(servers: Mapping[str, Sequence[str]] = SERVERS) -> Config:
    made = (ServerConfig(name=name, command="x", tags=(*tags,)) for name, tags in servers.items())
    return Config((*made,), Settings(), ())


@pytest.mark.parametrize(
    ("expression", "names"),
    [
        ("git", "git"),
        ("git,time", "git time"),
        (" time , git ", "git time"),
        ("git,,", "git"),
        ("git*", "git github"),
        ("gi?", "git"),
        ("tag:work", "git github jira"),
        ("tag:*o*e", "git memory"),
        ("tag:work,memory", "git github jira memory"),
        ("tag:work,-jira", "git github"),
        ("-jira,tag:work", "git github"),
        ("- jira , tag:work", "git github"),
        ("-jira", "git github time memory"),
        ("-tag:work", "time memory"),
        ("-tag:work,-t*", "memory"),
        ("*", "git github jira time memory"),
        ("*,-*", ""),
        ("git,-git", ""),
        ("nothing", ""),
        ("tag:nothing", ""),
        ("nothing,git", "git"),
        ("-nothing", "git github jira time memory"),
        ("Git", ""),
        ("work", ""),
        ("tag:git", ""),
    ],
)
def test_an_expression_selects(expression: str, names: str) -> None:
    subset = parse(expression)
    assert subset.names(SERVERS) == names.split()
    chosen = subset.of(config())
    assert [each.name for each in chosen.servers] == names.split()
    assert {each.name for each in chosen.outside} == SERVERS.keys() - set(names.split())


@pytest.mark.parametrize("name", ["[a]", "-x", "a,b", "tag:x"])
def test_a_pattern_selects_any_name(name: str) -> None:
    others = dict.fromkeys(("other", "another"), ())
    pattern = name.replace(",", "?").replace("-", "?").replace("tag:", "?ag:")
    assert parse(pattern).names({name: (), **others}) == [name]


@pytest.mark.parametrize("expression", ["", " ", ",", "-", "tag:", "git,-", "-tag:", "git,tag: "])
def test_an_expression_that_names_nothing_is_refused(expression: str) -> None:
    with pytest.raises(ConfigError, match=r"--servers: .*; write "):
        parse(expression)


WORDS = st.sampled_from(["git", "github", "jira", "time", "g*", "*t*", "?", "tag:work", "tag:w*", "tag:none", "none"])
SELECTORS = st.lists(st.tuples(st.sampled_from(["", "-"]), WORDS), min_size=1, max_size=6)
TAGGED = st.dictionaries(
    st.sampled_from(["git", "github", "jira", "time", "a"]), st.lists(st.sampled_from(["work", "web", "home"]))
)


@given(SELECTORS, st.randoms(), TAGGED)
def test_the_order_has_no_meaning(
    selectors: list[tuple[str, str]], random: object, servers: dict[str, list[str]]
) -> None:
    mixed = list(selectors)
    random.shuffle(mixed)  # type: ignore[attr-defined]
    first, second = (parse(",".join(map("".join, each))) for each in (selectors, mixed))
    assert first.names(servers) == second.names(servers)
    assert {*map(str, first.faults(servers))} == {
        str(each).replace(second.option, first.option) for each in second.faults(servers)
    }


@given(SELECTORS, TAGGED)
def test_an_excluded_server_is_never_selected(selectors: list[tuple[str, str]], servers: dict[str, list[str]]) -> None:
    subset = parse(",".join(map("".join, selectors)))
    excluded = [Selector(word) for sign, word in selectors if sign]
    included = [Selector(word) for sign, word in selectors if not sign]
    for name in subset.names(servers):
        assert not any(each.matches(name, servers[name]) for each in excluded)
        assert not included or any(each.matches(name, servers[name]) for each in included)
    # A narrower expression never selects more.
    narrower = parse(f"{subset.text},-{next(iter(servers), 'x')}")
    assert {*narrower.names(servers)} <= {*subset.names(servers)}


@given(SELECTORS, TAGGED)
def test_what_a_model_is_told_names_no_server(selectors: list[tuple[str, str]], servers: dict[str, list[str]]) -> None:
    subset = parse(",".join(map("".join, selectors)))
    chosen = subset.of(config(servers))
    matching = {word for _, word in selectors if Selector(word).matches_any(servers)}
    told = chosen.notice.partition(": ")[2].partition(". Only")[0].split(", ")
    assert not matching & {each.removeprefix("-") for each in told}
    assert bool(chosen.notice) == bool(subset.faults(servers) or subset.remarks(servers) or not chosen.servers)


FAULTS = [
    ("githb", "there is no server 'githb'; did you mean github?"),
    ("GIT", "there is no server 'GIT'; did you mean git?"),
    ("work", "there is no server 'work'; did you mean tag:work?"),
    ("tag:git", "no server has the tag 'git'; did you mean git?"),
    ("tag:wrok", "no server has the tag 'wrok'; did you mean tag:work?"),
    ("z*", "there is no such server 'z*'; the servers are git, github, jira, time, memory"),
    ("tag:z*", "no server has such a tag 'z*'; the tags are work, code, home"),
    ("zzz", "there is no server 'zzz'; the servers are git, github, jira, time, memory"),
    ("tag:zzz", "no server has the tag 'zzz'; the tags are work, code, home"),
    ("git,-git", "it excludes every server that it includes; --servers '*' selects all"),
]


@pytest.mark.parametrize(("expression", "fault"), FAULTS)
def test_a_person_is_told_what_is_wrong_and_the_remedy(expression: str, fault: str) -> None:
    subset = parse(expression)
    assert [*map(str, subset.faults(SERVERS))] == [f"{subset.option}: {fault}"]
    assert subset.remarks(SERVERS) == []


def test_a_needless_exclusion_is_a_remark() -> None:
    subset = parse("tag:work,-jria")
    assert subset.faults(SERVERS) == []
    assert [*map(str, subset.remarks(SERVERS))] == [
        "--servers tag:work,-jria: there is no server 'jria'; did you mean jira?"
    ]


def test_faults_without_servers_or_tags() -> None:
    assert str(parse("a").faults({})[0]).endswith("; the configuration has no servers yet")
    assert str(parse("tag:a").faults({"x": ()})[0]).endswith('; write "tags": ["a"] into the entries of servers')
    assert parse("-a").faults({}) == []


def test_many_names_are_cut() -> None:
    servers = {f"server-{number}": () for number in range(30)}
    assert str(parse("zzz").faults(servers)[0]).endswith("server-9, 20 more")
    assert parse("*").summary(servers).endswith("server-9, 20 more")


@pytest.mark.parametrize(
    ("expression", "summary"),
    [
        ("tag:work,-jira", "2 of 5 servers (--servers tag:work,-jira): git, github"),
        ("zzz", "none of 5 servers (--servers zzz)"),
        ("*", "5 of 5 servers (--servers '*'): git, github, jira, time, memory"),
    ],
)
def test_the_log_says_how_many_of_how_many(expression: str, summary: str) -> None:
    assert parse(expression).summary(SERVERS) == summary.replace("'*'", parse(EVERYTHING).option.split()[1])


CHANGE = "Only the user can change it; the log of search-mcp says more."


@pytest.mark.parametrize(
    ("expression", "notice"),
    [
        ("git,-jira", ""),
        ("git,zzz,-yyy", f"The user's option --servers names what no server has: zzz, -yyy. {CHANGE}"),
        (
            "zzz",
            f"The user's option --servers leaves this client no server, and names what no server has: zzz. {CHANGE}",
        ),
        ("git,-git", f"The user's option --servers leaves this client no server. {CHANGE}"),
    ],
)
def test_a_model_is_told_without_the_names_of_other_servers(expression: str, notice: str) -> None:
    assert parse(expression).of(config()).notice == notice


def test_a_fault_of_the_file_is_veiled() -> None:
    subset = parse("git")
    fault = ConfigError("f.json", "jira is broken", "mend jira", line=3, key="mcpServers.jira")
    assert str(subset.veiled(fault)) == (
        "f.json: the file has a fault; `search-mcp config validate --config f.json` names it"
    )
    missing = ConfigError("f.json", "there is no such file", "make it")
    assert subset.veiled(missing) is missing


def test_an_edit_of_another_server_changes_nothing() -> None:
    subset = parse("git")
    edited = config()
    servers = tuple(
        ServerConfig(name=each.name, command="y") if each.name == "jira" else each for each in edited.servers
    )
    assert subset.of(Config(servers, Settings(), ())) == subset.of(config())
    renamed = tuple(ServerConfig(name="jira2", command="x") if each.name == "jira" else each for each in edited.servers)
    assert subset.of(Config(renamed, Settings(), ())) != subset.of(config())


def test_all_servers_are_as_without_the_option() -> None:
    assert Subset("*", (Selector("*"),), ()).of(config()) == config()
