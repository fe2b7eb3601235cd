"""Pointers at a terminal: the newest of each who takes part, within the terminal's cells."""

from atoll.domain.terminals.pointers import MAX_SCROLLED, PointerPlace, Pointers


def test_place_of_a_stranger_is_kept_within_the_terminal() -> None:
    pointers = Pointers()
    assert pointers.point("a", PointerPlace((10**9, -(10**9)), (-(10**9), 3, 4, 10**9)))
    ((client, place),) = pointers.shown
    assert (client, place) == ("a", PointerPlace((500, 0), (-MAX_SCROLLED, 3, 4, 1000)))


def test_only_what_is_new_is_reported() -> None:
    pointers = Pointers()
    assert pointers.point("a", PointerPlace())
    assert not pointers.point("a", PointerPlace())
    assert pointers.point("b", PointerPlace((1, 2)))
    assert not pointers.point("b", PointerPlace((1, 2)))
    assert (pointers.clients, pointers.shown) == (("a", "b"), (("b", PointerPlace((1, 2))),))
    assert not pointers.leave("a")
    assert pointers.leave("b")
    assert not pointers.leave("b")
    assert pointers.clients == ()
