"""Pages that the server writes itself, where the page's script cannot speak: a card with a heading,
sentences and links, in the page's colours.

They have no script, and of styles only the one here, which their policy names by its hash.
"""

import base64
import hashlib
from collections.abc import Sequence
from html import escape
from typing import Final

from starlette.responses import Response

# The values are those of ui/src/styles/tokens.css.
STYLE: Final = """
:root{color-scheme:light dark;--bg:#f4f2ec;--card:#fffefb;--ink:#1c2728;--line:#dedace;
--accent:#0b6f6c;--on:#fff;--focus:#0b7f9c}
@media (prefers-color-scheme:dark){:root{--bg:#0a1012;--card:#0e1518;--ink:#e4ebeb;--line:#1f2b30;
--accent:#5fd3c4;--on:#04201d;--focus:#6cc7ec}}
*{box-sizing:border-box;margin:0}
body{display:grid;place-items:center;min-height:100vh;padding:20px;background:var(--bg);
color:var(--ink);font:14px/1.5 ui-sans-serif,system-ui,-apple-system,'Segoe UI',sans-serif}
main{display:grid;gap:14px;width:min(440px,100%);padding:34px;border:1px solid var(--line);
border-radius:16px;background:var(--card);overflow-wrap:anywhere}
svg{width:46px;height:46px}
h1{font-size:24px;font-weight:650;letter-spacing:-.02em;line-height:1.2}
a{display:grid;place-items:center;min-height:44px;padding:8px 14px;border:1px solid var(--line);
border-radius:7px;color:inherit;font-size:15px;text-decoration:none}
a.first{border-color:var(--accent);background:var(--accent);color:var(--on)}
a:focus-visible{outline:2px solid var(--focus);outline-offset:2px}
"""
_MARK: Final = (
    '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" '
    'fill="#0b5f66"/><path d="M16 5.5a10.5 10.5 0 1 1-9.2 5.4" fill="none" stroke="#8be0d4" '
    'stroke-width="3.4" stroke-linecap="round"/><circle cx="10.6" cy="6.9" r="1.9" '
    'fill="#f2d9a6"/><path d="M12.2 13.2 15.4 16l-3.2 2.8M17 19.4h3.6" fill="none" '
    'stroke="#fff" stroke-width="1.9" stroke-linecap="round" stroke-linejoin="round"/></svg>'
)
_HASH: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
_POLICY: Final = (
    f"default-src 'none'; style-src 'sha256-{_HASH}'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)


def plain_page(
    heading: str,
    sentences: Sequence[str],
    links: Sequence[tuple[str, str]] = (),
    *,
    status: int = 200,
) -> Response:
    """Return a page. `links` are pairs of label and address, the first one the way to go on. All
    text is escaped; the addresses are the caller's own, never a request's."""
    classes = ("first", *("other" for _ in links[1:]))
    body = "".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{escape(heading)} · Atoll</title><style>{STYLE}</style></head>",
            f"<body><main>{_MARK}<h1>{escape(heading)}</h1>",
            *(f"<p>{escape(sentence)}</p>" for sentence in sentences),
            *(
                f'<a class="{which}" href="{escape(address)}">{escape(label)}</a>'
                for which, (label, address) in zip(classes, links, strict=False)
            ),
            "</main></body></html>",
        )
    )
    headers = {"Content-Security-Policy": _POLICY, "Cache-Control": "no-cache"}
    return Response(body, status, headers, "text/html")
