"""Which ports of a sandbox may be forwarded, in which spelling."""

import pytest

from atoll.domain.errors import Forbidden, Invalid
from atoll.domain.network.forwarded_port import DOOR_PORT, check_port, read_port


@pytest.mark.parametrize(("text", "port"), [("1", 1), ("3000", 3000), ("65535", 65535)])
def test_port_in_plain_digits_is_read(text: str, port: int) -> None:
    assert read_port(text) == port


@pytest.mark.parametrize("door", ["8082", "3128", "7681"])
def test_port_of_a_door_is_refused(door: str) -> None:
    with pytest.raises(Forbidden) as refused:
        read_port(door)
    assert refused.value.code == DOOR_PORT


@pytest.mark.parametrize("door", ["8082", "3128", "7681"])
@pytest.mark.parametrize(
    "spelled",
    ["{} ", " {}", "+{}", "-{}", "0{}", "{}.0", "{}\n", "{}\x00", "{}/", "0x1f92", "80_82"],
)
def test_port_in_another_spelling_is_no_port(door: str, spelled: str) -> None:
    with pytest.raises(Invalid):
        read_port(spelled.format(door))


@pytest.mark.parametrize(
    "text", ["", "0", "65536", "99999", "100000", "８０８２", "٣١٢٨", "9" * 5000]
)
def test_text_that_names_no_port_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        read_port(text)


@pytest.mark.parametrize("number", [0, -1, 65_536])
def test_number_that_is_no_port_is_refused(number: int) -> None:
    with pytest.raises(Invalid):
        check_port(number)
