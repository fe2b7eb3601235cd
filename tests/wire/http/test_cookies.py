import time
from pathlib import Path

import pytest

from atoll.wire.http.cookies import MAX_COOKIES, find_cookies, read_cookies


@pytest.mark.parametrize(
    ("head", "cookies"),
    [
        ("a=1; b=2", [("a", "1"), ("b", "2")]),
        ('a="1"; b = 2 ;c', [("a", "1"), ("b", "2")]),
        ("a=b=c; a=; =x; ; a", [("a", "b=c"), ("a", "")]),
        ('a="\\073"', [("a", "\\073")]),
        ("s=v; Path=/; HttpOnly", [("s", "v"), ("Path", "/")]),
    ],
)
def test_cookies_are_read_in_their_order_without_escapes(
    head: str, cookies: list[tuple[str, str]]
) -> None:
    assert list(read_cookies([head])) == cookies


def test_cookie_is_found_among_others_of_its_name_and_a_few_at_most() -> None:
    heads = ["a=1; v=x", "v=y; v=z; v=; v=5; xv=6"]
    assert find_cookies(heads, "v", 3) == ("x", "y", "z")
    assert find_cookies([], "v") == ()


def test_cookies_beyond_the_most_are_not_read() -> None:
    head = ";".join(f"a{n}=1" for n in range(MAX_COOKIES + 9))
    assert len(list(read_cookies([head]))) == MAX_COOKIES


@pytest.mark.parametrize("piece", ["\\", ";", "=", '"', " ", "a=1;", "\\073", '="'])
def test_longest_head_of_one_piece_is_read_in_a_moment(piece: str) -> None:
    head = 'v="' + piece * (64 * 1024 // len(piece)) + '"'
    began = time.process_time()
    list(read_cookies([head]))
    assert time.process_time() - began < 0.05


def test_no_surface_asks_a_library_for_cookies() -> None:
    """Starlette's and aiohttp's `cookies` call the standard library's parser."""
    source = Path(__file__).parents[3] / "src/atoll"
    asking = [
        str(module.relative_to(source))
        for module in source.rglob("*.py")
        if ".cookies"
        in module.read_text().replace("http.cookies", "").replace("people.cookies", "")
    ]
    assert asking == []
