"""Consumers: harnesses on whose behalf sandboxes exist, and their sessions, runs and jobs.

Made from the declarations of the API by `scripts/client`.
"""

from atoll.client import fields
from atoll.client.fields import Shape
from atoll.client.made.overview import DoorCounts
from atoll.client.made.sandboxes.views import Sandbox
from atoll.client.transport import Pairs, Transport, get, omit_absent, post, query_of


class Ended(Shape):
    """The sandboxes that ended with it now."""

    sandboxes = fields.many(Sandbox)


class ConsumerUsage(Shape):
    """The usage of a consumer: its sandboxes, destroyed ones too, those of them that run, and
    what passed their doors in their whole lives."""

    harness = fields.text()
    session_id = fields.text()
    run_id = fields.text()
    job_id = fields.text()
    sandboxes = fields.number()
    running = fields.number()
    counts = fields.one(DoorCounts)


class ConsumerUsageList(Shape):
    """The usage of consumers, the one that created a sandbox last first."""

    consumers = fields.many(ConsumerUsage)


class Consumers:
    """Harnesses on whose behalf sandboxes exist. Every method raises the classes of
    `atoll.domain.errors`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def end(
        self,
        *,
        harness: str,
        session_id: str | None = None,
        run_id: str | None = None,
        job_id: str | None = None,
    ) -> Ended:
        """End a session, run or job. The caller's sandboxes of scope `session` that belong to it
        expire and are kept for their retention. Repeating it ends nothing more."""
        return self._transport.read(
            Ended,
            post(
                "consumers",
                "end",
                value=omit_absent(
                    harness=harness, session_id=session_id, run_id=run_id, job_id=job_id
                ),
            ),
        )

    def usage(
        self,
        *,
        harness: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        job_id: str | None = None,
        query: Pairs = (),
    ) -> ConsumerUsageList:
        """Return the usage of the caller's newest consumers, counted once a minute. Only of
        their own sandboxes, and of those that name a harness."""
        return self._transport.read(
            ConsumerUsageList,
            get(
                "consumers",
                "usage",
                query=query_of(harness=harness, session_id=session_id, run_id=run_id, job_id=job_id)
                + query,
            ),
        )
