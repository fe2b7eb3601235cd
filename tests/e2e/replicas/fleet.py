"""Several control planes of one home, on a PostgreSQL that they share."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from atoll.testing.server import TestServer, test_server
from tests.peers.api import until
from tests.peers.databases.postgres import PostgresServer

ELECTED_SECONDS = 15.0
"""At most between the death of a leader and the work of the next one, on a busy machine."""


@dataclass
class Fleet:
    """The replicas, and the database they share."""

    servers: list[TestServer]
    postgres: PostgresServer
    name: str

    def query(self, statement: str) -> list[tuple[object, ...]]:
        return self.postgres.rows(self.name, statement)

    def leading(self) -> str:
        """The name of the replica that leads, empty while none does."""
        found = self.query(
            "SELECT a.application_name FROM pg_locks l JOIN pg_stat_activity a USING (pid)"
            " WHERE a.application_name LIKE 'atoll leader %' AND l.locktype = 'advisory'"
            " AND l.granted AND a.datname = current_database()"
        )
        return str(found[0][0]).removeprefix("atoll leader ") if found else ""

    def leader(self) -> TestServer:
        """The replica that leads, once one does."""
        name = until(self.leading, bool, ELECTED_SECONDS)
        return next(one for one in self.servers if (one.replica or "main") == name)

    def others(self, than: TestServer) -> list[TestServer]:
        return [one for one in self.servers if one is not than]


@contextmanager
def fleet_on(
    postgres: PostgresServer,
    settings: Mapping[str, str] | None = None,
    *,
    config: str = "",
    keys: str = "",
    further: Sequence[str] = ("two", "three"),
) -> Iterator[Fleet]:
    """Replicas that run: one, and those called `further`. `settings` are added to their
    environment, `config` is their `config.toml`, `keys` their `keys.toml`."""
    name = postgres.empty()
    env = {"ATOLL_DATABASE_URL": postgres.url(name), **(settings or {})}
    with test_server(env, keys=keys, start=False) as first, ExitStack() as stack:
        (first.home / "config.toml").write_text(config)
        first.start()
        servers = [first]
        for replica in further:
            server = TestServer(first.home, env, replica=replica)
            stack.callback(_ended, server)
            server.start()
            servers.append(server)
        yield Fleet(servers, postgres, name)
    postgres.drop(name)


def _ended(server: TestServer) -> None:
    if server.process is not None and server.process.poll() is None:
        server.kill()
