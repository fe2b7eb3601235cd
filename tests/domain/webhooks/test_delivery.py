from dataclasses import replace
from datetime import timedelta

import pytest

from atoll.domain.ids import EventId
from atoll.domain.webhooks.delivery import (
    GIVE_UP_AFTER,
    LAST_CEILING,
    MAX_ATTEMPTS,
    MAX_COPY,
    MAX_DEAD,
    MAX_DEAD_AGE,
    Delivery,
    Failure,
    Receipt,
    after_attempt,
    after_failure,
    ceiling,
    failure_of,
    in_turn,
    is_old,
    is_told,
    new_delivery,
    replay_delivery,
    with_copy,
)
from atoll.wire.words.webhooks import DeliveryState
from tests.domain.webhooks.test_webhook import NOW, WEBHOOK, event

FAILED = Failure("hooks.example answered 500.")


def _first() -> Delivery:
    return new_delivery(WEBHOOK.id, event(), NOW)


@pytest.mark.parametrize("status", [200, 201, 204, 299])
def test_success_is_every_2xx(status: int) -> None:
    assert failure_of("h", Receipt(status)) is None


@pytest.mark.parametrize(
    ("status", "words"), [(301, "redirects are not followed"), (404, "404"), (503, "503")]
)
def test_other_answers_are_failures_with_their_reason(status: int, words: str) -> None:
    failure = failure_of("hooks.example", Receipt(status, timedelta(seconds=9)))
    assert failure is not None and not failure.gone and not failure.final
    assert failure.reason.startswith("hooks.example answered") and words in failure.reason


def test_answer_410_means_that_the_endpoint_is_gone() -> None:
    failure = failure_of("hooks.example", Receipt(410))
    assert failure is not None and failure.gone
    off = after_failure(WEBHOOK, failure, NOW, dead=0)
    assert (off.enabled, off.reason) == (False, failure.reason)


def test_waits_are_random_below_a_ceiling_that_grows_to_hours() -> None:
    ceilings = [ceiling(attempts).total_seconds() for attempts in range(1, MAX_ATTEMPTS)]
    assert ceilings == [10, 40, 160, 640, 2560, 10240, 21600, 21600, 21600]
    delivery, waits = _first(), []
    for _ in range(MAX_ATTEMPTS - 1):
        delivery = after_attempt(delivery, FAILED, NOW, chance=0.5)
        assert delivery.next_at is not None
        waits.append((delivery.next_at - NOW).total_seconds())
    assert waits == [one / 2 for one in ceilings]
    assert after_attempt(_first(), FAILED, NOW, chance=0).next_at == NOW
    dead = after_attempt(delivery, FAILED, NOW, chance=0.5)
    assert (dead.state, dead.next_at, dead.attempts) == (DeliveryState.DEAD, None, MAX_ATTEMPTS)
    assert (dead.reason, dead.failed_at) == (FAILED.reason, NOW)


def test_endpoint_may_ask_for_a_longer_wait_within_hours() -> None:
    for asked, wait in ((100, 100), (1, 10), (10**7, LAST_CEILING.total_seconds())):
        failure = Failure("later", timedelta(seconds=asked))
        tried = after_attempt(_first(), failure, NOW, chance=1)
        assert tried.next_at == NOW + timedelta(seconds=wait)


def test_failure_that_no_attempt_can_mend_is_a_dead_letter_at_once() -> None:
    dead = after_attempt(_first(), Failure("too long", final=True), NOW, chance=0.5)
    assert (dead.state, dead.attempts) == (DeliveryState.DEAD, 1)


def test_replayed_dead_letter_has_all_its_attempts_again() -> None:
    dead = after_attempt(_first(), Failure("too long", final=True), NOW, chance=0.5)
    again = replay_delivery(dead, NOW)
    assert (again.state, again.attempts, again.next_at) == (DeliveryState.REPLAYING, 0, NOW)


def test_webhook_is_disabled_when_nothing_succeeded_for_days() -> None:
    failing = after_failure(WEBHOOK, FAILED, NOW, dead=0)
    assert (failing.enabled, failing.failing_since, failing.failed_at) == (True, NOW, NOW)
    later = after_failure(failing, FAILED, NOW + GIVE_UP_AFTER - timedelta(seconds=1), dead=0)
    assert later.enabled and later.failing_since == NOW
    off = after_failure(later, FAILED, NOW + GIVE_UP_AFTER, dead=0)
    assert not off.enabled
    assert off.reason == f"No delivery succeeded for 3 days. The last reason: {FAILED.reason}"


def test_webhook_with_too_many_dead_letters_is_disabled() -> None:
    assert after_failure(WEBHOOK, FAILED, NOW, dead=MAX_DEAD - 1).enabled
    off = after_failure(WEBHOOK, FAILED, NOW, dead=MAX_DEAD)
    assert not off.enabled and str(off.reason).startswith("1000 events could not be delivered")


def test_oldest_of_each_stream_has_its_turn_and_replays_wait_for_nothing() -> None:
    def one(number: int, stream: str, state: DeliveryState) -> Delivery:
        return replace(
            _first(),
            event_id=EventId(f"ev_{number}"),
            position=number,
            stream=stream,
            state=state,
            next_at=None if state is DeliveryState.DEAD else NOW,
        )

    retrying, replaying, dead = DeliveryState
    given = [
        one(5, "a", retrying),
        one(4, "a", replaying),
        one(3, "a", replaying),
        one(2, "a", dead),
        one(7, "b", retrying),
        one(9, "b", retrying),
    ]
    assert [delivery.position for delivery in in_turn(given)] == [3, 5, 7]


def test_failure_to_report_on_webhooks_is_not_reported() -> None:
    assert is_told(_first())
    assert not is_told(replace(_first(), stream="webhook:whk_2"))


def test_copy_is_the_first_message_and_never_a_large_one() -> None:
    assert with_copy(_first(), b"x" * (MAX_COPY + 1)).copy is None
    kept = with_copy(_first(), "ü".encode())
    assert kept.copy == "ü" and with_copy(kept, b"other") == kept


def test_dead_letter_is_kept_for_a_time() -> None:
    dead = after_attempt(_first(), replace(FAILED, final=True), NOW, chance=1)
    assert not is_old(dead, NOW + MAX_DEAD_AGE)
    assert is_old(dead, NOW + MAX_DEAD_AGE + timedelta(seconds=1))
    assert not is_old(_first(), NOW + 2 * MAX_DEAD_AGE)
