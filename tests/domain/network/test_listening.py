"""Ports on which something listens, as lines from inside name them."""

from atoll.domain.network.listening import PortChange, changes, non_ephemeral_ports, read_listening
from atoll.wire.words.previews import MAX_PORTS

LOOPBACK_6 = "00000000000000000000000001000000"


def test_ports_on_wildcards_and_loopbacks_are_found_once_and_in_order() -> None:
    lines = ("0100007F 1F90", "00000000 BB8", f"{LOOPBACK_6} 1F90", f"{'0' * 32} 50")
    assert read_listening("\n".join(lines)) == (80, 3000, 8080)


def test_doors_the_runtime_and_what_the_loopback_does_not_reach_are_left_out() -> None:
    doors = ("0100007F 1F92", "0100007F C38", "00000000 1E01")
    elsewhere = ("0200007F 1F90", "0100000A 1F90", "0100007F 0")
    assert read_listening("\n".join((*doors, *elsewhere))) == ()


def test_rubbish_is_passed_over_and_the_number_is_bounded() -> None:
    assert read_listening("x\n\n0100007F\n0100007F 12345\n0100007f 50\n 0100007F 50\n") == ()
    many = "\n".join(f"0100007F {port:X}" for port in range(10_000, 11_000))
    assert len(read_listening(many)) == MAX_PORTS


def test_changes_are_told_in_order_and_of_chosen_ports_alone() -> None:
    assert non_ephemeral_ports((3000, 32_767, 32_768, 50_000)) == {3000, 32_767}
    before, after = frozenset({1, 2}), frozenset({2, 3})
    assert changes(before, after) == (PortChange(1, opened=False), PortChange(3, opened=True))
