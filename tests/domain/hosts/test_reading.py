import pytest
from hypothesis import given
from hypothesis import strategies as st

from atoll.domain.errors import Invalid
from atoll.domain.hosts.host import Capacity, HourlyCost
from atoll.domain.hosts.reading import (
    SshAddress,
    best_key,
    default_host_name,
    fingerprint,
    read_address,
    read_capacity,
    read_cost,
    read_fingerprint,
    read_host_key,
    read_host_name,
    read_labels,
    read_overcommit,
)
from atoll.wire.words.hosts import MAX_LABELS

KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAS36OZisKD2OHSgwnvTaGeeTaqB04Tu8MCN8vpYPRQN"
RSA = "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAAAgQ=="


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("ssh://ada@box", SshAddress("ada", "box")),
        ("ssh://ada@box.example:2222/", SshAddress("ada", "box.example", 2222)),
        ("ssh://ada@[fd00::1]:22", SshAddress("ada", "fd00::1")),
        ("ssh://_a.b@10.0.0.1", SshAddress("_a.b", "10.0.0.1")),
    ],
)
def test_address_names_user_machine_and_port(text: str, place: SshAddress) -> None:
    assert read_address(text) == place


@pytest.mark.parametrize(
    "text",
    [
        *("ssh://box", "ssh://ada:secret@box", "ssh://-oProxyCommand@box", "ada@box", ""),
        *("ssh://ada@-oProxyCommand=x", "ssh://ada@box:0", "ssh://ada@box:65536", "ssh://ada@"),
        *("ssh://ada@box/path", "ssh://ada@box\n", "ssh://ada@b;x", "http://ada@box"),
    ],
)
def test_address_that_could_mean_something_else_is_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_address(text)
    assert refused.value.field == "address"


@given(st.text())
def test_any_text_is_an_address_or_refused(text: str) -> None:
    for spelled in (text, f"ssh://ada@{text}", f"ssh://{text}@box"):
        try:
            place = read_address(spelled)
        except Invalid:
            continue
        assert not place.user.startswith("-") and not place.machine.startswith("-")
        assert " " not in place.machine and place.machine.isprintable()


def test_host_is_named_after_its_machine() -> None:
    assert default_host_name(SshAddress("a", "Box.example.org")) == "box"
    assert default_host_name(SshAddress("a", "10.0.0.1")) == "10-0-0-1"
    assert default_host_name(SshAddress("a", "fd00::1")) == "fd00-1"
    for machine in ("localhost", "local", "b_x"):
        with pytest.raises(Invalid, match="needs a name"):
            default_host_name(SshAddress("a", machine))
    assert read_host_name("gpu-1") == "gpu-1"
    for name in ("Box", "-box", "box-", "", "a" * 64):
        with pytest.raises(Invalid):
            read_host_name(name)


def test_key_is_read_as_files_of_openssh_have_it() -> None:
    for line in (KEY, f"{KEY} root@box", f"[box]:2222 {KEY}", f"  box,10.0.0.1 {KEY}\n"):
        assert read_host_key(line) == KEY
    for line in ("", "ssh-ed25519", "ssh-dss AAAAC3NzaC1lZDI1NTE5AAAA", "ssh-ed25519 no!"):
        with pytest.raises(Invalid):
            read_host_key(line)
    with pytest.raises(Invalid, match="damaged"):
        read_host_key("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI")


def test_fingerprint_is_spelled_as_ssh_keygen_does() -> None:
    assert fingerprint(KEY) == "SHA256:r9/sKKnqU3ny4yf96muQ7mchci96PmcaZVlm9c9rr50"
    assert read_fingerprint(fingerprint(KEY)) == fingerprint(KEY)
    with pytest.raises(Invalid):
        read_fingerprint("MD5:00")


def test_preferred_key_is_pinned() -> None:
    assert best_key((RSA, KEY)) == KEY
    assert best_key((RSA,)) == RSA
    assert best_key(("ssh-dss AAAA",)) is None


def test_figures_are_within_bounds() -> None:
    assert read_capacity(Capacity(5, 2.5, 1024)) == Capacity(5, 2.5, 1024)
    for wrong in (Capacity(sandboxes=-1), Capacity(cpu=-0.1), Capacity(memory_mb=1 << 50)):
        with pytest.raises(Invalid):
            read_capacity(wrong)
    assert read_overcommit(2) == 2.0
    for factor in (0.5, 101.0, float("nan")):
        with pytest.raises(Invalid):
            read_overcommit(factor)


def test_labels_are_plain_words_in_order() -> None:
    assert read_labels({"zone": "a", "disk": "nvme"}) == (("disk", "nvme"), ("zone", "a"))
    for wrong in ({"a b": "c"}, {"a": ""}, {f"k{n}": "v" for n in range(MAX_LABELS + 1)}):
        with pytest.raises(Invalid):
            read_labels(wrong)


def test_price_has_an_amount_and_a_currency() -> None:
    assert read_cost("0.12") == HourlyCost(120_000, "USD")
    assert read_cost("3.000001 EUR") == HourlyCost(3_000_001, "EUR")
    for wrong in ("", "-1", "1e3", "0.0000001", "1 euro", "free"):
        with pytest.raises(Invalid):
            read_cost(wrong)
