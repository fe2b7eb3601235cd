"""An issuer of agents' logins in memory."""

from datetime import timedelta
from urllib.parse import parse_qs, urlencode, urlsplit

from atoll.domain.errors import AtollError, Forbidden, Unavailable
from atoll.domain.logins.agent_login import LoginRefused, StillPending
from atoll.domain.logins.issuer_answers import PollVerdict
from atoll.domain.logins.redirect import AuthorizeRequest, BegunRedirect, authorize_url, challenge
from atoll.ports.outside.issuer import DeviceCode, LoginTokens

ISSUER = "https://issuer.example"


class FakeAgentIssuer:
    """A `ports.outside.issuer.AgentIssuer`. `life` is that of its access tokens, `reused` counts
    refresh tokens that came twice. `lost` loses the next answer, and `death` is raised in its
    place; `failure` is raised instead of a request for tokens, once, and `failing` for as long
    as it is set. `asked` counts these requests. With `grace` the newest
    refresh token but one is answered again."""

    def __init__(self, life: timedelta = timedelta(hours=1)) -> None:
        self.life = life
        self.reused = 0
        self.grace = False
        self.lost = False
        self.failure: AtollError | None = None
        self.failing: AtollError | None = None
        self.asked = 0
        self.death: AtollError | None = None
        self._count = 0
        self._devices: dict[str, PollVerdict | None] = {}
        self._challenges: dict[str, str] = {}
        self._refreshes: dict[str, str] = {}
        self._used: set[str] = set()
        self._followed: dict[str, str] = {}
        self._ended: set[str] = set()

    @property
    def over(self) -> int:
        """The number of grants that are over, by a revocation or by a reuse."""
        return len(self._ended)

    def confirm(self, device: DeviceCode, verdict: PollVerdict | None = None) -> None:
        """Have polls answered with `verdict`; None gives the tokens."""
        self._devices[device.device_code] = verdict

    def confirm_all(self) -> None:
        """Have polls of every code answered with tokens."""
        self._devices = dict.fromkeys(self._devices)

    def log_in(self, url: str) -> str:
        """Log in at the address of `page_of`; return where the browser is sent back to."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()}
        code = self._make_token("code")
        self._challenges[code] = asked["code_challenge"]
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    async def begin(self) -> DeviceCode:
        """See the port."""
        device = DeviceCode(self._make_token("device"), "ABCD-EFGH", f"{ISSUER}/device")
        self._devices[device.device_code] = StillPending()
        return device

    async def poll(self, device: DeviceCode) -> LoginTokens | PollVerdict:
        """See the port."""
        verdict = self._devices.get(device.device_code, LoginRefused("the code is unknown"))
        if verdict is not None:
            return verdict
        del self._devices[device.device_code]
        return self._answer(device.device_code)

    def page_of(self, begun: BegunRedirect) -> str:
        """See the port."""
        return authorize_url(AuthorizeRequest(f"{ISSUER}/authorize", "client", ("openid",)), begun)

    async def trade(self, begun: BegunRedirect, code: str) -> LoginTokens:
        """See the port."""
        self._fail()
        if self._challenges.pop(code, "") != challenge(begun.verifier):
            raise _refusal()
        return self._answer(code)

    async def refresh(self, refresh_token: str) -> LoginTokens:
        """See the port."""
        self._fail()
        family = self._refreshes.get(refresh_token, "")
        if refresh_token in self._used:
            self.reused += 1
            if not self.grace or self._followed[refresh_token] in self._used:
                self._ended.add(family)
        if not family or family in self._ended:
            raise _refusal()
        self._used.add(refresh_token)
        # The newer one is the last that was issued, also where its answer is lost.
        self._followed[refresh_token] = f"refresh-of-the-fake-issuer-{self._count + 2:06}"
        return self._answer(family)

    async def revoke(self, refresh_token: str) -> None:
        """See the port."""
        self._ended.add(self._refreshes.get(refresh_token, ""))

    def _fail(self) -> None:
        self.asked += 1
        failure, self.failure = self.failing or self.failure, None
        if failure is not None:
            raise failure

    def _answer(self, family: str) -> LoginTokens:
        access, refresh = self._make_token("access"), self._make_token("refresh")
        self._refreshes[refresh] = family
        if self.lost:
            self.lost = False
            death, self.death = self.death, None
            raise death or Unavailable("The answer was lost.", code="answer_lost")
        return LoginTokens(access, refresh, self.life, ("openid",), "account")

    def _make_token(self, kind: str) -> str:
        self._count += 1
        return f"{kind}-of-the-fake-issuer-{self._count:06}"


def _refusal() -> Forbidden:
    return Forbidden("The issuer refused the login: log in again.", code="issuer_refused")
