"""Consumers: harnesses on whose behalf sandboxes exist, and their sessions, runs and jobs."""

from typing import Annotated

from msgspec import Meta

from atoll.wire.api.fields import Word
from atoll.wire.api.operation import Answer, Area, Parameters, Request, operation
from atoll.wire.api.overview import DoorCountsView
from atoll.wire.api.sandboxes.views import SandboxView
from atoll.wire.words.sandboxes import MAX_CONSUMERS

Harness = Annotated[Word | None, Meta(description="Only what was created for this harness.")]
SessionId = Annotated[Word | None, Meta(description="Only what was created for this session.")]
RunId = Annotated[Word | None, Meta(description="Only what was created for this run.")]
JobId = Annotated[Word | None, Meta(description="Only what was created for this job.")]


class ConsumerQuery(Parameters):
    """The consumers to select."""

    harness: Harness = None
    session_id: SessionId = None
    run_id: RunId = None
    job_id: JobId = None


EVERY_CONSUMER = ConsumerQuery()


class ConsumerEndBody(Request):
    """The session, run or job that ended: a harness and exactly one of its ids."""

    harness: Word
    session_id: Word | None = None
    run_id: Word | None = None
    job_id: Word | None = None


class EndedView(Answer):
    """The sandboxes that ended with it now."""

    sandboxes: list[SandboxView]


class ConsumerUsageView(Answer):
    """The usage of a consumer: its sandboxes, destroyed ones too, those of them that run, and what
    passed their doors in their whole lives."""

    harness: str
    session_id: str | None
    run_id: str | None
    job_id: str | None
    sandboxes: int
    running: int
    counts: DoorCountsView


class ConsumerUsageList(Answer):
    """The usage of consumers, the one that created a sandbox last first."""

    consumers: list[ConsumerUsageView]


class Consumers(Area):
    """Harnesses on whose behalf sandboxes exist."""

    tag = "consumers"
    needs = "sandbox.manage"

    @operation("POST /v1/consumers/end", name="end_consumer", problems=(413,))
    def end(self, body: ConsumerEndBody) -> EndedView:
        """End a session, run or job.

        The caller's sandboxes of scope `session` that belong to it expire and are kept for their
        retention. Repeating it ends nothing more.
        """

    @operation(
        "GET /v1/consumers/usage",
        name="read_consumer_usage",
        needs="sandbox.read",
        max_items=MAX_CONSUMERS,
    )
    def usage(self, *, consumers: ConsumerQuery = EVERY_CONSUMER) -> ConsumerUsageList:
        """Return the usage of the caller's newest consumers, counted once a minute.

        Only of their own sandboxes, and of those that name a harness.
        """
