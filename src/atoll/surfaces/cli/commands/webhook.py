"""`atoll webhook`: endpoints to which events are posted, signed, in order, and again on failure."""

import click

from atoll.client.made.webhooks import (
    Delivery,
    MadeWebhook,
    ReplayBody,
    Webhook,
    WebhookBody,
    WebhookChangeBody,
    WebhookList,
    Webhooks,
)
from atoll.surfaces.cli.console.candidates import complete_from
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.moments import moment_with_age, moment_with_time_left
from atoll.surfaces.cli.console.options import duration, json_option, utc_option, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.console.references import WEBHOOK, pick_id, stream_of
from atoll.surfaces.cli.dispatch.verbs import Verbs


def _webhook_id(context: click.Context, _parameter: click.Parameter, webhook: str) -> str:
    """Return the id of a webhook, which may be named by its URL."""
    invocation = context.find_object(Invocation)
    if invocation is None or context.resilient_parsing:
        return webhook
    list_webhooks = Webhooks(invocation.api().transport).list
    return pick_id(
        WEBHOOK, webhook, lambda: ((row.webhook_id, row.url) for row in list_webhooks().webhooks)
    )


_webhook = click.argument(
    "webhook",
    shell_complete=complete_from(
        "webhooks",
        WebhookList,
        lambda listing: (webhook.webhook_id for webhook in listing.webhooks),
    ),
    callback=_webhook_id,
)
_event = click.option(
    "--event", "event_types", metavar="KIND", multiple=True, help="Only these, or all as sandbox.*"
)
_stream = click.option(
    "--stream", "streams", metavar="STREAM", multiple=True, help="Only these, or all as sandbox:*"
)


@click.group("webhook", cls=Verbs)
def command() -> None:
    """Post events to endpoints of yours, signed and in order."""


@needs("webhook.manage")
@command.command("add")
@click.argument("url")
@_event
@_stream
@click.option(
    "--organization", is_flag=True, help="What the whole team may see; for administrators."
)
@json_option()
@pass_invocation
def add(
    invocation: Invocation,
    url: str,
    *,
    event_types: tuple[str, ...],
    streams: tuple[str, ...],
    organization: bool,
    as_json: bool,
) -> None:
    """Post what happens from now on to URL, and print its secret, this once."""
    body: WebhookBody = {
        "url": url,
        "event_types": [*event_types],
        "streams": _streams(invocation, streams),
    }
    if organization:
        body["scope"] = "organization"
    made = _webhooks(invocation).create(body)
    _print_secret(made, as_json=as_json)
    if not as_json:
        note(f"try it: atoll webhook test {made.webhook_id}")


@needs("webhook.manage")
@command.command("list")
@utc_option()
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List the webhooks, without their secrets."""
    listing = _webhooks(invocation).list()
    if as_json:
        show_json(listing.value)
    elif listing.webhooks:
        rows = [_webhook_row(webhook) for webhook in listing.webhooks]
        show_table(("WEBHOOK", "URL", "STATE", "RETRYING", "DEAD", "DELIVERED"), rows)
    else:
        note("no webhooks: make one with `atoll webhook add URL`")


@needs("webhook.manage")
@command.command("show")
@_webhook
@utc_option()
@json_option()
@pass_invocation
def show(invocation: Invocation, webhook: str, *, as_json: bool) -> None:
    """Show a webhook, and why its last delivery failed."""
    endpoint = _webhooks(invocation).get(webhook)
    if as_json:
        show_json(endpoint.value)
        return
    again = endpoint.retrying + endpoint.replaying
    lines = {
        "webhook": endpoint.webhook_id,
        "url": endpoint.url,
        "of": "the organization" if endpoint.scope == "organization" else None,
        "events": ", ".join(endpoint.event_types) or "all",
        "streams": ", ".join(endpoint.streams) or "all",
        "state": _state(endpoint),
        "disabled": endpoint.reason,
        "position": str(endpoint.cursor),
        "delivered": moment_with_age(endpoint.delivered_at),
        "failing": moment_with_age(endpoint.failing_since),
        "last failure": endpoint.failure,
        "failed": moment_with_age(endpoint.failed_at),
        "unaccepted": f"{again} to be sent again, {endpoint.dead} dead",
    }
    for name, text in lines.items():
        if text:
            say(f"{name + ':':14}{text}")


@needs("webhook.manage")
@command.command("change")
@_webhook
@click.option("--url", default=None, help="Another endpoint.")
@_event
@_stream
@click.option("--all", "everything", is_flag=True, help="All events again, of all streams.")
@click.option("--on/--off", "enabled", default=None, help="Go on where it stopped, or stop.")
@json_option()
@pass_invocation
def change(
    invocation: Invocation,
    webhook: str,
    *,
    url: str | None,
    event_types: tuple[str, ...],
    streams: tuple[str, ...],
    everything: bool,
    enabled: bool | None,
    as_json: bool,
) -> None:
    """Change a webhook: its endpoint, its filters, or whether it is on."""
    body: WebhookChangeBody = {"url": url, "enabled": enabled}
    if event_types or everything:
        body["event_types"] = [*event_types]
    if streams or everything:
        body["streams"] = _streams(invocation, streams)
    endpoint = _webhooks(invocation).change(webhook, body)
    if as_json:
        show_json(endpoint.value)
    else:
        say(f"{endpoint.webhook_id} is {_state(endpoint)}")


@needs("webhook.manage")
@command.command("remove")
@_webhook
@yes_option()
@pass_invocation
def remove(invocation: Invocation, webhook: str, *, yes: bool) -> None:
    """Remove a webhook and its dead letters."""
    if not confirm(f"Remove the webhook {webhook}?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    _webhooks(invocation).remove(webhook)
    say(f"removed {webhook}")


@needs("webhook.manage")
@command.command("test")
@_webhook
@json_option()
@pass_invocation
def test(invocation: Invocation, webhook: str, *, as_json: bool) -> None:
    """Post a test event now, and say how the endpoint answered."""
    result = _webhooks(invocation).test(webhook)
    if as_json:
        show_json(result.value)
    elif result.accepted:
        say(f"accepted {result.event_id}")
    if not result.accepted:
        note(f"not accepted: {result.reason}")
        raise click.exceptions.Exit(FAILED)


@needs("webhook.manage")
@command.command("rotate")
@_webhook
@click.option(
    "--overlap",
    default=None,
    callback=lambda context, parameter, text: (
        text if text == "0" else duration(context, parameter, text)
    ),
    help="How long the former secret signs, too; 0 ends it now  [default: 1d]",
)
@json_option()
@pass_invocation
def rotate(invocation: Invocation, webhook: str, *, overlap: str | None, as_json: bool) -> None:
    """Make a new secret and print it, this once."""
    _print_secret(
        _webhooks(invocation).rotate(webhook, overlap=0 if overlap == "0" else overlap),
        as_json=as_json,
    )


@needs("webhook.manage")
@command.command("failed")
@_webhook
@click.option("--dead", is_flag=True, help="Dead letters only.")
@click.option("--drop", is_flag=True, help="Drop all dead letters.")
@utc_option()
@yes_option()
@json_option()
@pass_invocation
def failed(
    invocation: Invocation, webhook: str, *, dead: bool, drop: bool, yes: bool, as_json: bool
) -> None:
    """List what the endpoint did not accept, and why."""
    webhooks = _webhooks(invocation)
    if drop:
        if not confirm(f"Drop all dead letters of {webhook}?", yes=yes):
            raise click.exceptions.Exit(FAILED)
        webhooks.drop(webhook)
        say(f"dropped the dead letters of {webhook}")
        return
    page = webhooks.deliveries(webhook, state="dead" if dead else None, limit=1000)
    if as_json:
        show_json(page.value)
    elif page.deliveries:
        rows = [_delivery_row(delivery) for delivery in page.deliveries]
        show_table(("POSITION", "EVENT", "KIND", "STREAM", "TRIED", "NEXT", "WHY"), rows)
    else:
        note("the endpoint accepted everything")


@needs("webhook.manage")
@command.command("replay")
@_webhook
@click.option("--event", "event_id", metavar="EVENT", default=None, help="This dead letter only.")
@click.option(
    "--after",
    metavar="POSITION",
    type=click.IntRange(min=0),
    default=None,
    help="Everything after this position of the log, also what was delivered.",
)
@json_option()
@pass_invocation
def replay(
    invocation: Invocation, webhook: str, *, event_id: str | None, after: int | None, as_json: bool
) -> None:
    """Send dead letters again, all of them unless one is named."""
    body: ReplayBody = {"event_id": event_id, "after": after}
    result = _webhooks(invocation).replay(webhook, body)
    if as_json:
        show_json(result.value)
    elif after is not None:
        say(f"everything after position {after} is sent again")
    else:
        say(f"{result.deliveries} dead letters are sent again")


def _webhooks(invocation: Invocation) -> Webhooks:
    return Webhooks(invocation.api().transport)


def _streams(invocation: Invocation, streams: tuple[str, ...]) -> list[str]:
    api = invocation.api()
    return [stream_of(api, stream) for stream in streams]


def _print_secret(made: MadeWebhook, *, as_json: bool) -> None:
    if as_json:
        show_json(made.value)
        return
    say(made.secret)
    note(f"the secret of {made.webhook_id}; it is not shown again")


def _state(webhook: Webhook) -> str:
    if not webhook.enabled:
        return "disabled" if webhook.reason else "off"
    return "failing" if webhook.failing_since else "on"


def _webhook_row(webhook: Webhook) -> tuple[str, ...]:
    return (
        webhook.webhook_id,
        webhook.url,
        _state(webhook),
        str(webhook.retrying + webhook.replaying),
        str(webhook.dead),
        moment_with_age(webhook.delivered_at) or "-",
    )


def _delivery_row(delivery: Delivery) -> tuple[str, ...]:
    return (
        str(delivery.position),
        delivery.event_id,
        delivery.event_type,
        delivery.stream,
        str(delivery.attempts),
        moment_with_time_left(delivery.next_at) if delivery.state != "dead" else "dead",
        delivery.reason or "-",
    )
