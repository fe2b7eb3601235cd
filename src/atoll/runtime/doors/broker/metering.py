"""The cost of a finished exchange, from its usage or from an estimate."""

from time import monotonic

from atoll.domain.broker.allowance import LEAST_RESERVE_MICROS
from atoll.domain.broker.metering import cut_short, model_of_path, usage_of
from atoll.domain.broker.price import cost_micros
from atoll.runtime.doors.broker.exchange import Exchange
from atoll.wire.http.usage import UsageReader, read_model


def meter(exchange: Exchange) -> None:
    """Write usage and cost to the call of a metered exchange that reached its upstream. A request
    that the vendor refused costs nothing."""
    if exchange.usage is not None and exchange.outbound is not None and _is_costly(exchange):
        _write_cost(exchange, exchange.usage)


def _is_costly(exchange: Exchange) -> bool:
    call = exchange.call
    complete = call.outcome == "passed"
    if not 200 <= call.status < 300 and (complete or exchange.answered):
        return False
    empty = complete and not call.bytes_out
    return not empty and call.outcome != "upstream_unreachable"


def _write_cost(exchange: Exchange, reader: UsageReader) -> None:
    call = exchange.call
    complete = call.outcome == "passed"
    model = model_of_path(exchange.route.passage.target) or reader.model()
    model = model or read_model(exchange.asked_head)
    usage = usage_of(reader.counts(), model=model, bytes_in=call.bytes_in, bytes_out=call.bytes_out)
    if not complete:
        # The vendor counted more than it could still send.
        seconds = monotonic() - call.started
        usage = cut_short(usage, bytes_in=call.bytes_in, seconds=seconds)
    call.usage, cost = usage, cost_micros(call.service, usage)
    call.cost_micros = cost if complete or cost is None else max(cost, LEAST_RESERVE_MICROS)
