"""Organizations over the API: what waits for the end of a sandbox, and quotas of both kinds."""

from atoll.client.made.people.organizations import PlainOrganizations
from atoll.client.made.people.quotas import HeldQuota, QuotaBody
from atoll.client.made.sandboxes.oversight import Overseen, Running
from atoll.client.parts import organization_of
from atoll.client.transport import ANSWER_SECONDS, Call, post, put


class Organizations(PlainOrganizations):
    """Organizations. `ref` is an id or a slug; None is the caller's own."""

    def stop(self, ref: str | None, sandbox: str, *, wait_seconds: int = 0) -> Overseen:
        """Have a sandbox of an organization stop, whoever owns it; wait so long for the end."""
        own = organization_of(self._transport, ref)
        call = post("organizations", own, "sandboxes", sandbox, "stop")
        return self._transport.read(Overseen, _with_wait(call, wait_seconds))

    def halt(self, sandbox: str, *, wait_seconds: int) -> Running:
        """Stop a sandbox of the installation, whoever owns it, and wait so long for the end."""
        return self._transport.read(
            Running, _with_wait(post("running", sandbox, "stop"), wait_seconds)
        )

    def set_quota(self, ref: str | None, member: str | None, body: QuotaBody) -> HeldQuota:
        """Replace the quota of a member, or with None of the organization."""
        whose = () if member is None else (member,)
        own = organization_of(self._transport, ref)
        call = put("organizations", own, "quotas", *whose, value=body)
        return self._transport.read(HeldQuota, call)


def _with_wait(call: Call, seconds: int) -> Call:
    """Return a call that waits on the server for at most `seconds`."""
    query = (("wait", "true"), ("timeout", str(seconds))) if seconds else ()
    return call._replace(query=query, timeout=seconds + ANSWER_SECONDS)
