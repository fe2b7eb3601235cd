"""The nouns of the blocking client, awaited.

A method of a noun makes requests and reads answers, and does nothing else. So it can be run against
answers that are already there: `Awaited` runs it until it makes a request that has no answer yet,
awaits that one, and runs it again. Each request is spelled once, for both clients.
"""

from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ClassVar, Concatenate, Generic, ParamSpec, TypeVar, overload

from atoll.client.aio.connection import Connection
from atoll.client.fields import Shape
from atoll.client.server import Server
from atoll.client.transport import Call, Transport
from atoll.domain.errors import Unavailable

N = TypeVar("N")
N_co = TypeVar("N_co", covariant=True)
P = ParamSpec("P")
R = TypeVar("R")


class MissingAnswer(BaseException):
    """A request that no answer is there for; no `except` of a noun may catch it."""

    def __init__(self, call: Call) -> None:
        super().__init__(call.path)
        self.call = call


class AnsweredTransport(Transport):
    """Transport that gives answers in their order, and raises `MissingAnswer` beyond them."""

    def __init__(self, answers: list[Shape]) -> None:
        super().__init__(_nowhere)
        self._answers = iter(answers)

    def call(self, call: Call) -> Shape:
        """Return the next answer."""
        answer = next(self._answers, None)
        if answer is None:
            raise MissingAnswer(call)
        return answer


class AsyncNoun(Generic[N_co]):
    """A noun of the API, over a connection. `blocking` is the one whose methods it awaits."""

    blocking: ClassVar[type[Any]]

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def perform(self, method: Callable[[N_co], R]) -> R:
        """Return what a method of the blocking noun returns, its requests awaited."""
        answers: list[Shape] = []
        while True:
            try:
                return method(type(self).blocking(AnsweredTransport(answers)))
            except MissingAnswer as open_request:
                call = open_request.call
            answers.append(await self._connection.call(call))


class Awaited(Generic[N, P, R]):
    """Method of a noun, awaited: `get = Awaited(Webhooks.get)` has its parameters and result."""

    def __init__(self, method: Callable[Concatenate[N, P], R]) -> None:
        self.method = method
        self.__doc__ = method.__doc__

    @overload
    def __get__(self, noun: None, owner: type) -> "Awaited[N, P, R]": ...
    @overload
    def __get__(self, noun: AsyncNoun[N], owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(
        self, noun: AsyncNoun[N] | None, owner: type
    ) -> "Awaited[N, P, R] | Callable[P, Coroutine[Any, Any, R]]":
        if noun is None:
            return self
        bound = noun

        @wraps(self.method)
        async def perform(*args: P.args, **kwargs: P.kwargs) -> R:
            return await bound.perform(lambda blocking: self.method(blocking, *args, **kwargs))

        return perform


def _nowhere() -> Server:
    raise Unavailable("no server is asked while answers are read")
