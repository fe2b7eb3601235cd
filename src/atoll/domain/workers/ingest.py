"""The intake of batches that a dialled host numbers at the source.

A host counts items from 1 in each epoch. Every item is taken once; after a gap nothing is taken,
and the answer names the number that is expected.
"""

from dataclasses import dataclass

from atoll.domain.errors import Invalid
from atoll.domain.workers.lifecycle import check_epoch


@dataclass(frozen=True, slots=True)
class Source:
    """A source of items: the worker's epoch, and the number expected next."""

    epoch: int
    expected: int = 1


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch: the number of its first item, and how many items it has."""

    epoch: int
    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Intake:
    """The result of a batch: skip its first `skip` items, and take the `taken` after them."""

    source: Source
    skip: int
    taken: int


def take_batch(source: Source, batch: Batch) -> Intake:
    """Return what is taken of a batch.

    Raises `Conflict`, code `stale_lease`, for another epoch, and `Invalid` for a number below 1.
    """
    check_epoch(source.epoch, batch.epoch)
    if batch.first < 1:
        raise Invalid("items are numbered from 1", field="first")
    skip = source.expected - batch.first
    if skip < 0:
        return Intake(source, 0, 0)
    skip = min(skip, batch.count)
    taken = batch.count - skip
    return Intake(Source(source.epoch, source.expected + taken), skip, taken)
