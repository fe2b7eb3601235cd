import pytest

from atoll.wire.terminal import sgr


@pytest.mark.parametrize(
    ("params", "spelled"),
    [
        (b"", b""),
        (b"0", b""),
        (b"1;31", b"\x1b[1;31m"),
        (b"1;31;0;4", b"\x1b[4m"),
        (b"38;5;74", b"\x1b[38;5;74m"),
        (b"38;2;1;2;3;1", b"\x1b[1;38;2;1;2;3m"),
        (b"48:2::1:2:3", b"\x1b[48:2::1:2:3m"),
        (b"58;5;9;4:3", b"\x1b[4:3;58;5;9m"),
        (b"4;4:0", b""),
        (b"38;5", b""),
        (b"38;7;1", b"\x1b[1;7m"),
        (b"97;107", b"\x1b[107;97m"),
        (b"32;44", b"\x1b[44;32m"),
        (b"1;22;3;23;5;25;7;27;8;28;9;29;53;55;31;39;41;49;4;24;58;5;1;59", b""),
        (b"99999999;77;?x", b""),
    ],
)
def test_pen_after_params_is_spelled_again(params: bytes, spelled: bytes) -> None:
    sgr.apply.cache_clear()  # what other tests asked is not asked again
    assert sgr.spell(sgr.apply(sgr.PLAIN, params)) == spelled


def test_pen_already_coloured_keeps_what_params_do_not_touch() -> None:
    pen = sgr.apply(sgr.apply(sgr.PLAIN, b"1;31"), b"32")
    assert sgr.spell(pen) == b"\x1b[1;32m"


def test_pen_spelled_and_applied_again_is_the_same() -> None:
    pen = sgr.apply(sgr.PLAIN, b"1;3;38;2;9;8;7;48;5;3;4:3")
    assert sgr.apply(sgr.PLAIN, sgr.spell(pen)[2:-1]) == pen
