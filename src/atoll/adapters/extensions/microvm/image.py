"""The image of a home's guests: kernel, initial RAM disk, root disk, and what a trial found out."""

import os
from dataclasses import dataclass
from pathlib import Path

import msgspec

from atoll.adapters.linked.machine import Facts, read_facts
from atoll.domain.errors import AtollError, Failed
from atoll.domain.interior.remote import RemoteMachine

KVM = Path("/dev/kvm")
MISSING = "ext.microvm has no image of a guest yet: run `atoll vm build` as root"


class TrialRecord(msgspec.Struct, frozen=True):
    """The file `image.json`: what the guest said of itself at its trial, and why KVM cannot be
    used (empty: it booted with it)."""

    facts: str
    no_kvm: str
    packages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class GuestImage:
    """An image that booted."""

    folder: Path
    record: TrialRecord

    @property
    def machine(self) -> RemoteMachine:
        """The facts that a wall in the guest is built by."""
        return self.facts.machine

    @property
    def facts(self) -> Facts:
        """The facts of the guest. Raises `Failed` where the record is none."""
        return read_facts(self.record.facts)

    def no_kvm(self) -> str:
        """Return why this process cannot use KVM; empty where it can."""
        return self.record.no_kvm or unusable_kvm()


def unusable_kvm() -> str:
    """Return why this process may not open KVM's device; empty where it may."""
    if not KVM.exists():
        return f"{KVM} does not exist here"
    if not os.access(KVM, os.R_OK | os.W_OK):
        return f"the user of Atoll (uid {os.geteuid()}) may not open {KVM}"
    return ""


def images(home: Path) -> Path:
    """Return the place of a home's images; `current` leads to the one in use."""
    return home / "vm-images"


def find_image(home: Path) -> GuestImage:
    """Return the image in use. Raises `Failed` with how to build one."""
    folder = (images(home) / "current").resolve()
    try:
        record = msgspec.json.decode((folder / "image.json").read_bytes(), type=TrialRecord)
        image = GuestImage(folder, record)
        _ = image.facts
    except FileNotFoundError as error:
        raise Failed(MISSING) from error
    except (OSError, msgspec.MsgspecError, AtollError) as error:
        raise Failed(f"the image of guests at {folder} cannot be read: build it again") from error
    return image
