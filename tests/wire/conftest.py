"""A conversation for every test of the peer."""

import pytest

from wire.conversation import Conversation


@pytest.fixture
def talk() -> Conversation:
    return Conversation()
