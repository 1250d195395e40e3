"""The conversation fixture of the tests of the peer."""

import pytest

from wire.conversation import Conversation


@pytest.fixture
def talk() -> Conversation:
    return Conversation()
