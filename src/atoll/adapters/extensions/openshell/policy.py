"""A profile as a policy of OpenShell, and as the sandbox that runs under it.

The policy has no rule for the network: without one OpenShell refuses every connection.
"""

from typing import Final

from google.protobuf.struct_pb2 import Struct
from openshell._proto import openshell_pb2, sandbox_pb2

from atoll.adapters.rented.vendor import Order
from atoll.domain.errors import Invalid
from atoll.domain.profile.profile import Profile
from atoll.wire.words.sandboxes import Access

READ_ONLY: Final = ("/bin", "/etc", "/lib", "/lib64", "/proc", "/sbin", "/usr", "/dev/urandom")
READ_WRITE: Final = (
    *("/.atoll", "/home/agent", "/mnt", "/opt/atoll", "/srv", "/tmp", "/var/tmp", "/workspace"),  # noqa: S108  places inside
    *("/dev/full", "/dev/null", "/dev/ptmx", "/dev/pts", "/dev/random", "/dev/shm", "/dev/tty"),  # noqa: S108
    "/dev/zero",
)

DEADLINE: Final = "/.atoll/deadline"
GUARD: Final = r"""
umask 077
now() { date +%s; }
echo $(($(now) + $1)) >"$2"
while :; do
  until=$(cat "$2") || exit 0
  case $until in ""|*[!0-9]*) exit 0;; esac
  left=$((until - $(now)))
  [ $left -gt 0 ] && [ $left -le $1 ] || exit 0
  [ $left -le 5 ] || left=5
  sleep $left
done
"""
"""Words: seconds, and the file of the deadline. The sandbox's main process: OpenShell has no
deadline of its own, and a sandbox whose main process ended is over."""

RENEW: Final = r"""
set -eu
umask 077; echo $(($(date +%s) + $1)) >"$2.new"; mv -f "$2.new" "$2"
"""
"""Words as of `GUARD`: moves the deadline."""


def policy_of(profile: Profile, user: str) -> sandbox_pb2.SandboxPolicy:
    """Return the policy of a sandbox. Raises `Invalid` for what such a policy cannot give."""
    if profile.workspace.access in (Access.READ_ONLY, Access.NONE):
        raise Invalid(
            "ext.openshell gives a workspace that can be written: its policy would keep Atoll out "
            "as well",
            field="workspace.access",
        )
    return sandbox_pb2.SandboxPolicy(
        version=1,
        filesystem=sandbox_pb2.FilesystemPolicy(
            include_workdir=True, read_only=READ_ONLY, read_write=READ_WRITE
        ),
        # Not every image has every place: a missing one is skipped, a missing Landlock is found
        # by the probe at ready.
        landlock=sandbox_pb2.LandlockPolicy(compatibility="best_effort"),
        process=sandbox_pb2.ProcessPolicy(run_as_user=user, run_as_group=user),
    )


def spec_of(order: Order, user: str) -> openshell_pb2.SandboxSpec:
    """Return the sandbox of an order."""
    if order.profile is None:
        raise Invalid("a sandbox of OpenShell needs a profile", field="profile")
    return openshell_pb2.SandboxSpec(
        template=openshell_pb2.SandboxTemplate(
            image=order.template, resources=_limits(order.profile)
        ),
        policy=policy_of(order.profile, user),
        command=["/bin/sh", "-c", GUARD, "sh", str(order.seconds), DEADLINE],
        restart_policy=openshell_pb2.SANDBOX_RESTART_POLICY_NEVER,
    )


def _limits(profile: Profile) -> Struct | None:
    """Return processor and memory as OpenShell's drivers read them, where a profile names them."""
    resources = profile.resources
    limits: dict[str, str] = {}
    if resources.cpu:
        limits["cpu"] = f"{round(resources.cpu * 1000)}m"
    if resources.memory_mb:
        limits["memory"] = f"{resources.memory_mb}Mi"
    if not limits:
        return None
    made = Struct()
    made.update({"limits": limits})
    return made
