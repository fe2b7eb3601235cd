import os
from pathlib import Path

import msgspec
import pytest

from atoll.adapters.extensions.microvm import disks, image, qemu
from atoll.adapters.extensions.microvm.image import TrialRecord, images
from atoll.wiring.doctor import microvm

FACTS = "link bin usr/bin\nmachine Linux x86_64\nbase /box\nready\n"


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home that has the extension on, on a machine with QEMU and KVM."""
    (tmp_path / "config.toml").write_text('extensions = ["microvm"]\n')
    program = tmp_path / "bin" / "true"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    (program.parent / qemu.PROGRAM).symlink_to(program)
    (program.parent / "mke2fs").symlink_to(program)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setattr(disks, "_PATH", str(program.parent))
    monkeypatch.setattr(image, "KVM", tmp_path / "kvm")
    (tmp_path / "kvm").touch()
    (tmp_path / "kvm").chmod(0o666)
    return tmp_path


def built(home: Path, no_kvm: str = "") -> None:
    folder = images(home) / "current"
    folder.mkdir(parents=True)
    record = TrialRecord(FACTS, no_kvm, ())
    (folder / "image.json").write_bytes(msgspec.json.encode(record))


def found(home: Path) -> tuple[str, str]:
    (one,) = microvm.findings(home)
    assert one.name == "ext.microvm"
    return one.level, one.text


def test_extension_that_is_off_is_no_fault(tmp_path: Path) -> None:
    assert found(tmp_path) == ("ok", "not switched on (setting `extensions`)")
    assert microvm.groups_for(tmp_path) == ()


def test_missing_image_is_named_with_the_command_that_makes_it(home: Path) -> None:
    level, text = found(home)
    assert level == "warn" and "atoll vm build" in text
    assert microvm.groups_for(home) == ()


def test_missing_qemu_is_named_with_its_package(home: Path) -> None:
    (home / "bin" / qemu.PROGRAM).unlink()
    level, text = found(home)
    assert level == "warn" and "qemu-system-x86" in text


def test_machines_with_kvm_are_said_to_have_it(home: Path) -> None:
    built(home)
    assert found(home) == ("ok", "machines run with KVM")


def test_trial_that_failed_is_given_as_the_reason(home: Path) -> None:
    built(home, "a guest does not boot with it")
    level, text = found(home)
    assert (level, text) == (
        "warn",
        "machines are emulated and slow: a guest does not boot with it",
    )


@pytest.mark.root
def test_device_that_only_root_opens_is_none_for_the_control_plane(home: Path) -> None:
    built(home)
    (home / "kvm").chmod(0o600)
    assert "no group opens" in found(home)[1]


@pytest.mark.root
def test_group_of_the_device_is_asked_for_where_a_machine_booted(home: Path) -> None:

    built(home)
    (home / "kvm").chmod(0o660)
    os.chown(home / "kvm", 0, 1234)
    assert found(home)[0] == "ok"
    assert microvm.groups_for(home) == (1234,)


def test_home_without_machines_is_cleared(home: Path) -> None:
    microvm.clear(home)
    (home / "vms" / "sb_aaaaaaaaaaaaaaaa").mkdir(parents=True)
    microvm.clear(home)
