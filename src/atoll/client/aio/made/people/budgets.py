"""Budgets: the most that models may cost an organization, a person, an agent or a sandbox.

Awaited. Made from the declarations of the API by `scripts/client`.
"""

from atoll.client.aio.nouns import AsyncNoun, Awaited
from atoll.client.made.people import budgets as made


class AsyncBudgets(AsyncNoun[made.Budgets]):
    """Budgets of money."""

    blocking = made.Budgets
    list = Awaited(made.Budgets.list)
    set = Awaited(made.Budgets.set)
    remove = Awaited(made.Budgets.remove)
