"""The roster of an organization: one member of it, and one more.

Organizations and invitations share these rules; both are called in their transaction.
"""

from collections.abc import Sequence

from atoll.domain.errors import Conflict, LimitReached, NotFound
from atoll.domain.people.organization import MAX_MEMBERS, PERSONAL, Member, Organization
from atoll.ports import Transaction


def one_member(members: Sequence[Member], ref: str) -> Member:
    """Return a member by id, or by a name or email that only one has; capitals count only where
    two names differ in nothing else. Raises `NotFound`, and `Conflict` where several have it."""
    by_id = [member for member in members if member.id == ref]
    exact = [member for member in members if ref and ref in (member.name, member.email)]
    folded = ref.casefold()
    alike = [
        one for one in members if ref and folded in (one.name.casefold(), one.email.casefold())
    ]
    matches = by_id or exact or alike
    if not matches:
        raise NotFound(f"There is no member {ref[:80]!r}: list them to see who there is.")
    if len(matches) > 1:
        ids = ", ".join(member.id for member in matches)
        raise Conflict(f"Several members are {ref[:80]!r} ({ids}): use the id.", code="ambiguous")
    return matches[0]


def check_team(within: Organization) -> None:
    """Check that an organization can have members. Raises `Conflict` for that of single-person
    mode."""
    if within is PERSONAL:
        raise Conflict(
            "This is a single person's home: make a team first, with `atoll org create`.",
            code="personal_organization",
        )


async def add_member(rows: Transaction, within: Organization, member: Member) -> None:
    """Add a member. Raises `LimitReached` beyond 1000 of them, and `Conflict` for a second one of
    this id or name."""
    check_team(within)
    members = await rows.members.of(within.id)
    if len(members) >= MAX_MEMBERS:
        raise LimitReached(f"{within.name} has {MAX_MEMBERS} members: remove one first.")
    if any(other.id == member.id for other in members):
        raise Conflict(
            f"{member.name} is a member of {within.name} already.", code="member_already"
        )
    if any(other.name == member.name for other in members):
        raise Conflict(
            f"{within.name} has a member {member.name} already: choose another name.",
            code="name_taken",
            field="name",
        )
    await rows.members.put(member)
