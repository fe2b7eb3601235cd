"""Share links of dashboards: made, listed and revoked. A guest of one looks at the dashboard.

How a link is opened, and who its guest is, is said by `services.people.shares`.
"""

import secrets

from atoll.domain.dashboards.dashboard import Dashboard, check_manages
from atoll.domain.event import Json
from atoll.domain.ids import ShareId
from atoll.domain.people.login import SECRET_BYTES, fingerprint, spell_secret
from atoll.domain.people.principal import Principal
from atoll.domain.people.share import Guest, Share, ShareRequest, expiry
from atoll.services.dashboards.dashboards import Dashboards
from atoll.services.ground import Ground
from atoll.services.people.shares import add_link, living_links, revoke_link, share_event


class DashboardShares:
    """Use cases on the share links of dashboards, for who manages the dashboard."""

    def __init__(self, ground: Ground, dashboards: Dashboards) -> None:
        self._ground = ground
        self._dashboards = dashboards

    async def create(
        self, caller: Principal, ref: str, request: ShareRequest, *, terminals: bool
    ) -> tuple[Share, str]:
        """Return a new link and its secret, which is never seen again. Its guests watch the
        terminals on the dashboard, too, where `terminals` is set. Raises `LimitReached`,
        `Forbidden`."""
        dashboard = await self._find_managed_dashboard(caller, ref)
        now, secret = self._ground.clock.now(), spell_secret(secrets.token_bytes(SECRET_BYTES))
        share = Share(
            id=ShareId(self._ground.ids.new("sh")),
            org_id=dashboard.org_id,
            owner=dashboard.owner,
            sandbox_id=None,
            terminal_id=None,
            role=request.role,
            name=request.name.strip(),
            mark=fingerprint(secret),
            created_at=now,
            expires_at=expiry(now, request.seconds),
            dashboard_id=dashboard.id,
            terminals=terminals,
        )
        payload: dict[str, Json] = {
            "role": share.role.value,
            "expires_at": share.expires_at.isoformat(),
            "terminals": terminals,
        }
        if share.name:
            payload["label"] = share.name
        async with self._ground.store.begin() as rows:
            # Again: it may have been deleted, and its links revoked, since it was looked at.
            check_manages(caller, await self._dashboards.find(rows, caller, ref))
            await add_link(rows, share, now)
            await rows.events.append(
                (share_event(self._ground, "created", share, caller, payload),)
            )
        self._dashboards.announce(dashboard)
        return share, secret

    async def list(self, caller: Principal, ref: str) -> list[tuple[Share, tuple[Guest, ...]]]:
        """Return the living links of a dashboard, each with its guests."""
        return await living_links(
            self._ground, (await self._find_managed_dashboard(caller, ref)).id
        )

    async def revoke(self, caller: Principal, ref: str, share_id: str) -> None:
        """End a link; its guests' connections close at once. Raises `NotFound`."""
        async with self._ground.store.begin() as rows:
            dashboard = await self._dashboards.find(rows, caller, ref)
            check_manages(caller, dashboard)
            await revoke_link(rows, self._ground, dashboard.id, share_id, actor=caller)
        self._dashboards.announce(dashboard)

    async def _find_managed_dashboard(self, caller: Principal, ref: str) -> Dashboard:
        """Return a dashboard that the caller manages. Raises `NotFound` and `Forbidden`."""
        dashboard = (await self._dashboards.get(caller, ref)).dashboard
        check_manages(caller, dashboard)
        return dashboard
