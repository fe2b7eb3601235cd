"""Pages that the server writes itself."""

import base64
import hashlib
import re

from atoll.surfaces.http.body.plain_page import plain_page
from tests.places import ROOT


def test_plain_page_escapes_all_and_runs_no_script() -> None:
    page = plain_page("<h>", ("<script>x</script>",), (('"><b>', "/a?b&c"),), status=401)
    text, policy = bytes(page.body).decode(), page.headers["content-security-policy"]
    assert page.status_code == 401 and "<script" not in text and "<b>" not in text
    assert 'href="/a?b&amp;c"' in text and "script-src" not in policy
    (style,) = re.findall("<style>(.*)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}';" in policy


def test_plain_page_has_the_colours_of_the_page() -> None:
    tokens = (ROOT / "ui" / "src" / "design" / "tokens.css").read_text()
    text = bytes(plain_page("x", ()).body).decode()
    colours = set(re.findall(r"--\w+:(#[0-9a-f]{6})", text))
    assert len(colours) == 13 and not [one for one in colours if one not in tokens]
