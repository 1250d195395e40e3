"""What the page costs those who do not open it: no module, and no work of the engine."""

from processes.conftest import Serve, serve
from processes.run import server
from processes.test_loading import loaded

from page.conftest import NewHome
from page.running import PageHome, waits_until

__all__ = ["serve"]

ECHO = {"one": server("well_behaved")}
OF_AN_ISSUER = ("jwt", "cryptography")
IMPORTS = {"PYTHONPROFILEIMPORTTIME": "1"}
OF_THE_PAGE = ("starlette", "uvicorn", "jinja2", "markupsafe", "h11", "search_mcp.page")
WAITS_FOR_IT = {"search_mcp.page", "search_mcp.page.opening"}
"""What an engine loads to open the page when it is asked for."""


def test_a_client_without_an_engine_loads_nothing_of_the_page(serve: Serve) -> None:
    with serve(ECHO, IMPORTS) as run:
        run.opens()
        assert run.calls("one.echo", words="x") == "x"
    assert loaded(run.stderr, *OF_THE_PAGE, *OF_AN_ISSUER) == set()


def test_an_engine_loads_the_page_when_it_is_asked_for(new_home: NewHome) -> None:
    home = new_home(ECHO)
    home.environment |= {**IMPORTS, "IMPORTED": str(home.folder / "imported")}
    with home.client() as client:
        client.opens()
        assert client.calls("one.echo", words="x") == "x"
        assert imported(home) == WAITS_FOR_IT
        with home.visit() as guest:
            assert guest.form_token
        assert {*OF_THE_PAGE, "search_mcp.page.page"} <= imported(home)
    assert loaded(client.stderr, *OF_THE_PAGE) == set()


def imported(home: PageHome) -> set[str]:
    """Return the modules of the page that the engine has loaded."""
    names = (home.folder / "imported").read_text().splitlines()
    assert "search_mcp.engine.process" in names
    return {name for name in names if any(f"{name}.".startswith(f"{package}.") for package in OF_THE_PAGE)}


def steps(home: PageHome) -> int:
    """Return the number of steps that the engine has made."""
    return home.log.read_bytes().count(b"STEP of")


def steps_meanwhile(home: PageHome) -> int:
    """Return the number of steps while a command runs that has nothing to do with the engine: most of a second."""
    before = steps(home)
    assert home.types("config", "path").returncode == 0
    return steps(home) - before


def test_an_engine_does_nothing_while_no_page_is_open(new_home: NewHome) -> None:
    home = new_home(ECHO)
    home.environment["STEPS"] = "-1"  # every step is longer
    with home.visit() as guest:
        with guest.stream("GET", f"{guest.root}events?view=servers") as stream:
            lines = stream.iter_lines()  # its end would close the stream
            next(lines)
            before = steps(home)
            waits_until(lambda: steps(home) > before + 10)
        guest.view("servers")
    meanwhile = [steps_meanwhile(home) for _ in range(3)]
    while any(meanwhile[-3:]):  # what happens once, such as the end of the stream
        meanwhile.append(steps_meanwhile(home))
        assert len(meanwhile) < 30, meanwhile
