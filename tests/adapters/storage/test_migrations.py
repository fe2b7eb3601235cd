"""Rows that a migration moves."""

import sqlalchemy as sa

from atoll.adapters.storage.columns import metadata
from atoll.adapters.storage.migrations.versions import (
    r0021_projections,
    r0040_event_subscriptions,
)
from atoll.domain.sandbox.reported import read_agents


def test_statuses_of_agents_become_the_first_snapshot() -> None:
    engine = sa.create_engine("sqlite://")
    body = '{"id":"%s","agent":"codex","mode":"tui","status":{"status":"done","since":"é"}}'
    with engine.begin() as connection:
        metadata.create_all(connection)
        connection.execute(
            sa.text("CREATE TABLE agent_statuses (sandbox_id TEXT, change INTEGER, body TEXT)")
        )
        for sandbox, change in (("sb_1", 2), ("sb_2", 1), ("sb_1", 1)):
            connection.execute(
                sa.text("INSERT INTO agent_statuses VALUES (:sandbox, :change, :body)"),
                {"sandbox": sandbox, "change": change, "body": body % f"t_{change}"},
            )
        r0021_projections._move_statuses(connection)
        rows = connection.execute(sa.text("SELECT * FROM projection_states ORDER BY stream")).all()
        assert connection.execute(sa.text("SELECT * FROM projections")).all() == [("agents", 0)]
    assert [row.stream for row in rows] == ["sandbox:sb_1", "sandbox:sb_2"]
    assert [one.id for one in read_agents(rows[0].body)] == ["t_1", "t_2"]
    assert all((row.position, row.kept_position) == (0, 0) for row in rows)
    assert all(row.body == row.kept_body for row in rows)


def test_subscriptions_of_the_events_extension_go_and_webhooks_stay() -> None:
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        metadata.create_all(connection)
        for name in ("sub_1", "wh_1", "subx"):
            connection.execute(
                sa.text("INSERT INTO webhooks VALUES (:id, 'o', 'p', '{}')"), {"id": name}
            )
        r0040_event_subscriptions._remove(connection)
        assert connection.execute(
            sa.text("SELECT id FROM webhooks ORDER BY id")
        ).scalars().all() == [
            "subx",
            "wh_1",
        ]
