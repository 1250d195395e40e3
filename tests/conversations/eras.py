"""Markers for the pairings of a scenario that does not run in all four."""

import pytest

from conversations.words import LEGACY, MODERN, NEWEST_LEGACY

PAIRINGS = [(front, back) for front in (NEWEST_LEGACY, MODERN) for back in (NEWEST_LEGACY, MODERN)]


def _in(pairings: list[tuple[str, str]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("pair", pairings, indirect=True, ids=lambda each: f"{each[0]}+{each[1]}")


legacy_client = _in([each for each in PAIRINGS if each[0] != MODERN])
modern_client = _in([each for each in PAIRINGS if each[0] == MODERN])
legacy_backend = _in([each for each in PAIRINGS if each[1] != MODERN])
modern_backend = _in([each for each in PAIRINGS if each[1] == MODERN])
legacy_legacy = _in([(NEWEST_LEGACY, NEWEST_LEGACY)])
legacy_modern = _in([(NEWEST_LEGACY, MODERN)])
modern_legacy = _in([(MODERN, NEWEST_LEGACY)])
modern_modern = _in([(MODERN, MODERN)])
every_legacy_client = _in([(front, back) for front in LEGACY for back in (NEWEST_LEGACY, MODERN)])
every_revision = _in([(front, back) for front in (*LEGACY, MODERN) for back in (*LEGACY, MODERN)])
