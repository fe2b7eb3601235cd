"""Receipts of workers as they stand in rows: one form for requests and for what hosts deliver."""

import msgspec

from atoll.domain.workers.ledger import Receipt, RequestRefusal, Response
from atoll.wire.words.workers import ErrorCode


class ReceiptBody(msgspec.Struct, omit_defaults=True, kw_only=True):
    """A body with a receipt as JSON: it has either a result or a code, or neither."""

    result: str | None = None
    code: ErrorCode | None = None
    message: str = ""
    data: str | None = None

    def hold(self, receipt: Receipt | None) -> None:
        """Write a receipt into this body."""
        match receipt:
            case Response(result):
                self.result = result
            case RequestRefusal(code, message, data):
                self.code, self.message, self.data = code, message, data
            case None:
                pass

    @property
    def receipt(self) -> Receipt | None:
        """Return the receipt in this body."""
        if self.code is not None:
            return RequestRefusal(self.code, self.message, self.data)
        return None if self.result is None else Response(self.result)
