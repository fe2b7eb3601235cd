from urllib.parse import parse_qs, urlsplit

import pytest

from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.logins.redirect import (
    AuthorizeRequest,
    BegunRedirect,
    authorize_url,
    challenge,
    read_redirect,
)

BACK = "http://localhost:1455/auth/callback"
BEGUN = BegunRedirect("s" * 43, "v" * 43, BACK)
GOOD = f"{BACK}?code=c0de&state={BEGUN.state}"


def test_challenge_is_that_of_the_standard() -> None:
    """The example of RFC 7636, appendix B."""
    verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    assert challenge(verifier) == "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


def test_address_names_the_login_and_not_its_verifier() -> None:
    request = AuthorizeRequest(
        "https://issuer.example/authorize", "client", ("openid", "a b"), (("extra", "1"),)
    )
    url = authorize_url(request, BEGUN)
    asked = parse_qs(urlsplit(url).query)
    assert asked["state"] == [BEGUN.state] and asked["code_challenge_method"] == ["S256"]
    assert asked["scope"] == ["openid a b"] and asked["extra"] == ["1"]
    assert BEGUN.verifier not in url and BEGUN.verifier not in repr(BEGUN)


def test_redirect_of_this_login_gives_its_code() -> None:
    assert read_redirect(f"  {GOOD}&scope=openid\n", BEGUN) == "c0de"


@pytest.mark.parametrize(
    "pasted",
    [
        "",
        "c0de",
        GOOD.replace("sss", "fff"),
        GOOD.replace("localhost", "evil.example"),
        f"{GOOD}&state=other",
        f"{GOOD}&code=other",
        GOOD.replace("c0de", ""),
        GOOD.replace("c0de", "%C3%A9"),
        GOOD.replace("c0de", "c" * 5000),
        GOOD + "&x=" + "y" * 9000,
        GOOD + "\x00",
        GOOD + "&a=1" * 30,
        f"{BACK}?error=access_denied&state=forged",
        f"{BACK}?code=%",
    ],
)
def test_forged_redirect_is_refused(pasted: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_redirect(pasted, BEGUN)
    assert refused.value.field == "redirect"


def test_refusal_at_the_issuer_is_told_apart() -> None:
    with pytest.raises(Forbidden) as refused:
        read_redirect(f"{BACK}?error=access_denied&state={BEGUN.state}", BEGUN)
    assert refused.value.code == "login_denied"
