"""Turns of terminals on each kind of foreign machine: the runtime's own suite, over a link."""

import pytest

from tests.adapters.extensions.link.suites import suite_of
from tests.runtime.terminals import test_turns

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.usefixtures("over_the_link"),
    pytest.mark.timeout(300),
]
globals().update(suite_of(test_turns))
