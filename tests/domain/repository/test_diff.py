from atoll.domain.repository.diff import MAX_FILE_LINES, MAX_LINE_CHARS, MAX_LINES, read_diff

PLAIN = b"""\
diff --git a/a b.txt b/a b.txt
index 1..2 100644
--- a/a b.txt\t
+++ b/a b.txt\t
@@ -1,2 +1,2 @@ def f():
-one
+two
 same
@@ -9 +9,0 @@
-gone
\\ No newline at end of file
diff --git a/old b/new
old mode 100644
new mode 100755
similarity index 90%
rename from old
rename to "n\\303\\251\\tw\\""
diff --git "a/x\\ny" "b/x\\ny"
deleted file mode 100644
Binary files "a/x\\ny" and /dev/null differ
diff --git a/n b/n
new file mode 100644
copy from o
copy to n
"""


def test_files_hunks_and_lines_are_read() -> None:
    text, renamed, binary, new = read_diff(PLAIN)
    assert text.path == "a b.txt"
    first, second = text.hunks
    assert (first.old_start, first.old_lines, first.new_start, first.new_lines) == (1, 2, 1, 2)
    assert (first.heading, first.lines) == ("def f():", ("-one", "+two", " same"))
    assert (second.old_lines, second.new_lines) == (1, 0)
    assert second.lines == ("-gone", "\\ No newline at end of file")
    assert (renamed.old_path, renamed.path) == ("old", 'né\tw"')
    assert (renamed.old_mode, renamed.new_mode) == ("100644", "100755")
    assert (binary.path, binary.binary, binary.old_mode) == ("x\ny", True, "100644")
    assert (new.old_path, new.path, new.new_mode) == ("o", "n", "100644")
    assert not any(file.truncated for file in (text, renamed, binary, new))


def test_content_never_passes_for_a_header() -> None:
    forged = b"diff --git a/a b/a\n@@ -0,0 +1,2 @@\n+diff --git a/b b/b\n+@@ -1 +1 @@\n"
    (file,) = read_diff(forged)
    assert file.hunks[0].lines == ("+diff --git a/b b/b", "+@@ -1 +1 @@")


def test_marker_inside_a_hunk_counts_as_no_line() -> None:
    (file,) = read_diff(b"diff --git a/a b/a\n@@ -1 +1 @@\n-a\n\\ No newline\n+b\n")
    assert file.hunks[0].lines == ("-a", "\\ No newline", "+b") and not file.truncated


def test_diff_that_was_cut_is_truncated() -> None:
    (file,) = read_diff(b"diff --git a/a b/a\n@@ -1,3 +1,3 @@\n a\n")
    assert file.truncated and file.hunks[0].lines == (" a",)


def test_lines_are_bounded_in_number_and_length() -> None:
    many = MAX_FILE_LINES + 1
    head = b"diff --git a/a b/a\n@@ -0,0 +1,%d @@\n"
    (file,) = read_diff(head % many + b"+x\n" * many)
    assert file.truncated and len(file.hunks[0].lines) == MAX_FILE_LINES
    (file,) = read_diff(head % 1 + b"+" + b"x" * MAX_LINE_CHARS + b"\n")
    assert file.truncated and len(file.hunks[0].lines[0]) == MAX_LINE_CHARS


def test_text_before_the_first_file_is_skipped() -> None:
    assert read_diff(b"warning: x\n") == ()


def test_flood_of_lines_is_read_to_a_bound() -> None:
    flood = b"diff --git a/x b/x\n@@ -0,0 +1,999999999 @@\n" + b"+\n" * (MAX_LINES * 2)
    (file,) = read_diff(flood)
    assert file.truncated and len(file.hunks[0].lines) == MAX_FILE_LINES
    files = read_diff(b"diff --git a/x b/x\n" * (MAX_LINES + 1000))
    assert len(files) == MAX_LINES
