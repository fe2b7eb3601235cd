"""Pulls that were asked for on the page: a checkout waits, takes them one at a time and reports.

Each order is a pull as the command line makes it: into one branch, without force.
"""

from pathlib import Path

from atoll.client.client import Client
from atoll.client.made.library.pulls import PullOrder, PullResultBody, TakeBody
from atoll.domain.errors import AtollError, Conflict, NotFound, Unavailable
from atoll.surfaces.cli.console.output import note, say
from atoll.surfaces.cli.transfer.held_push import bring_pushed
from atoll.surfaces.cli.transfer.local_repo import describe
from atoll.surfaces.cli.transfer.pulled_branch import BranchRequest, PulledBranch, pull

WAIT_SECONDS = 20
REPORTS = 30
"""Attempts to report an end, two seconds apart."""


def watch_pulls(api: Client, checkout: Path, *, once: bool = False) -> None:
    """Take pull orders for the checkout until interrupted, or after one with `once`. Raises as
    `describe`, and what the server answers but for `Unavailable`."""
    repo = describe(checkout)
    place: TakeBody = {"key": repo.key, "repo_url": repo.repo_url}
    note(f"{repo.root} waits for pulls from the page; Ctrl-C ends it")
    while True:
        try:
            order = api.sandboxes.take_pull(place, wait_seconds=WAIT_SECONDS)
        except Unavailable as error:
            note(f"atoll: {error.message}; trying again")
            _pause()
            continue
        if order is not None:
            _report(api, order, follow_order(api, repo.root, order))
        if once:
            return


def follow_order(api: Client, checkout: Path, order: PullOrder) -> PullResultBody:
    """Make one pull and return its end, also when it failed."""
    branch, into = order.branch or None, order.into or None
    expects = order.expects or None
    wanted = BranchRequest(order.repo, branch, uncommitted=order.uncommitted, expects=expects)
    bring = bring_pushed if order.pushed else pull
    try:
        pulled = bring(api, order.sandbox_id, checkout, wanted=wanted, into=into)
    except AtollError as error:
        note(f"atoll: {order.sandbox_name}: {error.message}")
        return {"done": False, "said": error.message[:1000]}
    say(f"{order.sandbox_name}: {pulled}")
    return {
        "done": True,
        "written": pulled.branch,
        "commit": pulled.commit,
        "commits": pulled.commits,
        "said": _result_text(pulled),
    }


def _report(api: Client, order: PullOrder, result: PullResultBody) -> None:
    """Report the end of an order, also to a server that restarts meanwhile."""
    for attempt in range(REPORTS):
        try:
            api.sandboxes.finish_pull(order.order_id, result)
        except Unavailable as error:
            if attempt == REPORTS - 1:
                note(f"atoll: {error.message}; the page will not say how this pull ended")
                return
            _pause()
        except (NotFound, Conflict) as error:
            note(f"atoll: {error.message}")
            return
        else:
            return


def _result_text(pulled: PulledBranch) -> str:
    backup = [f"what {pulled.branch} was is kept as {pulled.kept}"] if pulled.kept else []
    look = [f"look at these before you use them: {', '.join(pulled.flagged)}"]
    return "; ".join([*backup, *(look if pulled.flagged else [])])[:1000]


def _pause() -> None:
    import time

    time.sleep(2)
