from atoll.domain.repository.changes import MAX_FILES, read_changes
from atoll.wire.words.library import ChangeKind

MARK = "m" * 8
SEPARATOR = f"\0{MARK}\0".encode()
HEAD = b"fix\0aaaa\0bbbb\x002\x003\0dddd\0"
RAW = b":100644 100644 1111 0000 "


def output(status: bytes = b"", raw: bytes = b"", stamps: bytes = b"", head: bytes = HEAD) -> bytes:
    return SEPARATOR.join((head, status, raw, stamps))


def test_changes_join_status_counts_and_stamps() -> None:
    raw = RAW + b"M\0a\0" + RAW + b"R100\0old\0new\0" + b"1\t2\ta\0-\t-\t\0old\0new\0"
    found = read_changes(output(b" M a\0?? sub/\0", raw, b"1|2|now|a\n"), MARK)
    assert found is not None
    assert (found.branch, found.head, found.base, found.commits) == ("fix", "aaaa", "bbbb", 2)
    assert (found.total, found.digest, found.additions, found.deletions) == (3, "dddd", 1, 2)
    a, new, sub = found.files
    assert (a.path, a.uncommitted, a.untracked, a.additions) == ("a", True, False, 1)
    assert (new.path, new.old_path, new.kind, new.binary) == ("new", "old", "renamed", True)
    assert (sub.path, sub.untracked, sub.kind) == ("sub/", True, "added")
    other = read_changes(output(b" M a\0", raw, b"1|2|later|a\n"), MARK)
    assert other is not None and other.files[0].digest != a.digest
    assert other.files[1].digest == new.digest


def test_binary_file_has_sizes_instead_of_counts() -> None:
    raw = RAW + b"M\0a\0-\t-\ta\0" + RAW + b"D\0gone\0-\t-\tgone\0"
    whole = SEPARATOR.join((output(raw=raw, stamps=b"7|2|now|a\n"), b"1111 5\nbad missing x\n"))
    found = read_changes(whole, MARK)
    assert found is not None
    assert [(file.old_size, file.new_size) for file in found.files] == [(5, 7), (5, None)]
    found = read_changes(output(raw=raw), MARK)
    assert found is not None and found.files[0].old_size is None


def test_renamed_file_is_one_file_of_the_total() -> None:
    raw = RAW + b"R100\0old\0new\0" + RAW + b"M\0a\0"
    found = read_changes(output(raw=raw, head=b"fix\0aaaa\0bbbb\x002\x003\0dddd\0"), MARK)
    assert found is not None and (len(found.files), found.total) == (2, 2)


def test_added_file_is_the_same_whether_or_not_git_knows_its_object() -> None:
    digests = set()
    for new in (b"0000", b"1111"):
        raw = b":000000 100644 0000 " + new + b" A\0a\0"
        found = read_changes(output(b"?? a\0", raw, b"1|2|now|a\n"), MARK)
        assert found is not None
        digests.add(found.files[0].digest)
    assert len(digests) == 1


def test_unmerged_file_is_told_as_such() -> None:
    found = read_changes(output(b"UU a\0", RAW + b"M\0a\0"), MARK)
    assert found is not None and found.files[0].kind is ChangeKind.UNMERGED


def test_before_the_first_commit_there_is_neither_head_nor_base() -> None:
    found = read_changes(output(head=b"\0\0\0x\x00-1\0\0"), MARK)
    assert found is not None
    assert (found.branch, found.head, found.base, found.commits, found.total) == (
        None, None, None, 0, 0,
    )  # fmt: skip


def test_other_output_is_none() -> None:
    assert read_changes(b"", MARK) is None
    assert read_changes(output(head=b"fix\0"), MARK) is None


def test_what_cannot_be_read_or_was_cut_is_skipped() -> None:
    raw = b":1 2 M\0" + RAW + b"?\0" + RAW + b"M\0ok\0"
    raw += b"5\t1\tnobody\0junk\0" + RAW + b"M"
    found = read_changes(output(b"x\0 M o", raw, b"a|b\n"), MARK)
    assert found is not None and [file.path for file in found.files] == ["ok"]
    assert not found.files[0].uncommitted


def test_files_beyond_the_bound_are_counted() -> None:
    raw = b"".join(RAW + b"M\0%d\0" % number for number in range(MAX_FILES + 2))
    found = read_changes(output(raw=raw), MARK)
    assert found is not None and (len(found.files), found.total) == (MAX_FILES, MAX_FILES)


def test_entry_without_its_path_is_no_file() -> None:
    found = read_changes(output(raw=RAW + b"M\0"), MARK)
    assert found is not None and found.files == ()


def test_flood_in_one_section_is_read_to_a_bound() -> None:
    flood = b"".join(b"?? %07d/\0" % number for number in range(400_000))
    found = read_changes(output(flood), MARK)
    assert found is not None and found.total == MAX_FILES
    assert read_changes(SEPARATOR * 100_000, MARK) is None
