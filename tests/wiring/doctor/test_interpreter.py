import re
import tarfile

import pytest

from atoll.wiring.doctor.interpreter import FAULTS, findings


def test_fault_of_the_library_is_named_with_the_versions_that_mend_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As in Python 3.11.2 as it was released.
    monkeypatch.setattr("http.cookies._QuotePatt", re.compile(r"[\\]."), raising=False)
    monkeypatch.delattr(tarfile, "_header_length_prefix_re", raising=False)
    found = [one for one in findings() if "quadratic" in one.text]
    assert [one.text.partition(": ")[2].partition(" ")[0] for one in found] == [
        "cookies",
        "headers",
    ]
    assert all(one.level == "warn" and "3.11.10, 3.12.6" in one.fix for one in found)


def test_python_without_a_fault_is_said_to_be_well() -> None:
    (finding,) = findings(())
    assert (finding.name, finding.level) == ("python", "ok")


def test_every_fault_is_looked_for_without_an_error() -> None:
    assert {fault.stands() for fault in FAULTS} <= {True, False}
