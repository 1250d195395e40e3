"""The start of an engine: how it becomes independent of the process that starts it."""

import pytest

from search_mcp.fronts.starting import detachment


@pytest.mark.parametrize(
    ("platform", "options"),
    [
        ("linux", {"start_new_session": True}),
        ("darwin", {"start_new_session": True}),
        ("win32", {"creationflags": 0x01000000 | 0x08000000}),  # with an invisible console, and out of the job
    ],
)
def test_an_engine_is_independent_of_the_process_that_starts_it(platform: str, options: dict[str, object]) -> None:
    assert detachment(platform) == options
