from datetime import UTC, timedelta

from atoll.adapters.clocks.system import SystemClock


async def test_sleep_ends_at_its_moment_and_not_before() -> None:
    clock = SystemClock()
    assert clock.now().tzinfo is UTC
    deadline = clock.now() + timedelta(milliseconds=20)
    await clock.sleep_until(deadline)
    assert clock.now() >= deadline
    await clock.sleep_until(deadline)
