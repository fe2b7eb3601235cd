"""Files of variables that services name: found, read and written out."""

import pytest

from atoll.domain.compose.env_files import MAX_FILES, find_env_files, write_out
from atoll.domain.compose.reading import read_stack
from atoll.domain.errors import Invalid
from atoll.domain.profile.yaml_tree import MAX_BYTES

DOCUMENT = """
x-shared: &shared {env_file: shared.env}
services:
  web:
    image: web
    env_file: [.env, {path: ../web.env, required: false}]
    environment: {OWN: mine, SHARED: 1}
  db: {<<: *shared, image: db, environment: [OWN=mine]}
  off: {image: off, profiles: [debug], env_file: absent.env}
  agent: {image: agent, profiles: [all], env_file: ./.env}
"""
FILES = {"deploy/.env": "A=1\nOWN=theirs\n", "deploy/shared.env": "B=pa$$\nOWN=x", "web.env": None}


def environment(document: str, name: str = "web") -> dict[str, str]:
    """Return the variables of a service."""
    (found,) = [one for one in read_stack(document).services if one.name == name]
    return dict(found.environment)


def of_file(text: str) -> dict[str, str]:
    """Return the variables that a file gives to a service that names it."""
    document = "services: {web: {image: web, env_file: .env}}"
    return environment(write_out(document, "", {".env": text}))


def test_files_are_found_from_the_folder_of_the_compose_file() -> None:
    assert find_env_files(DOCUMENT, "deploy") == (
        "deploy/.env",
        "web.env",
        "deploy/shared.env",
    )
    for none in ("", ", env_file: null"):
        assert find_env_files(f"services: {{web: {{image: web{none}}}}}", "") == ()
    for odd in ("[a]", "services: [a]", "services: {web: a}", "{}"):
        assert find_env_files(odd, "") == ()


def test_variables_are_written_out_below_those_of_the_service() -> None:
    written = write_out(DOCUMENT, "deploy", FILES)
    assert environment(written) == {"A": "1", "OWN": "mine", "SHARED": "1"}
    assert environment(written, "db") == {"B": "pa$$", "OWN": "mine"}
    assert environment(written, "agent") == {"A": "1", "OWN": "theirs"}


def test_later_file_takes_precedence_and_odd_characters_stay() -> None:
    document = "services: {web: {image: web, env_file: [a, b]}}"
    written = write_out(document, "", {"a": "X=1\nY=2", "b": "X='\U0001f600é'"})
    assert environment(written) == {"X": "\U0001f600é", "Y": "2"}
    for odd in ("\x7f", "\u2028", "\ufeff"):
        with pytest.raises(Invalid, match="holds a control character"):
            read_stack(write_out(document, "", {"a": "", "b": f"X='{odd}'"}))


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("X=plain words # a remark", "plain words"),
        ("export X = a#b", "a#b"),
        ("X=", ""),
        ("X= # a remark", ""),
        ("X='$HOME \\n'", "$HOME \\n"),
        (r'X="a\nb\t\"c\" \\ \$d \x"', 'a\nb\t"c" \\ $d \\x'),
        ("X=5$", "5$"),
        ("\ufeffX=1", "1"),
        ("# X=2\n\n   \nX=1\r", "1"),
    ],
)
def test_line_is_read_as_compose_reads_it(line: str, value: str) -> None:
    assert of_file(line) == {"X": value}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("X", "takes a variable from the environment"),
        ("=1", "is no `NAME=VALUE`"),
        ("X='a", "without its other one"),
        ('X="a" b', "is no `NAME=VALUE`"),
        ("X=$HOME", "takes another variable"),
        ('X="${HOME}"', "takes another variable"),
        ("X=$(id)", "takes another variable"),
        ("X=a\0b", "is no `NAME=VALUE`"),
        pytest.param(f"X={' ' * 60_000}'", "without its other one", id="spaces, read once"),
    ],
)
def test_line_that_cannot_be_meant_is_refused_with_its_number(line: str, why: str) -> None:
    with pytest.raises(Invalid, match=r"names \.env, whose line 2 ") as refused:
        of_file(f"A=1\n{line}")
    assert why in refused.value.message and refused.value.field == "services.web.env_file"


@pytest.mark.parametrize(
    "named",
    ["/etc/passwd", "../../x", "a/../../../x", "''", "$HOME/x", "7", "{file: x}",
     "{path: x, format: raw}", "/workspace/.env", '"a\\0b"', "[[x]]"],
)  # fmt: skip
def test_path_that_leaves_the_workspace_or_is_none_is_refused(named: str) -> None:
    document = f"services: {{web: {{image: web, env_file: {named}}}}}"
    with pytest.raises(Invalid) as refused:
        find_env_files(document, "deploy")
    assert (refused.value.field or "").startswith("services.web.env_file")


def test_file_that_is_not_there_is_refused_unless_it_need_not_be() -> None:
    document = "services: {web: {image: web, env_file: {path: x, required: %s}}}"
    assert environment(write_out(document % "false", "", {"x": None})) == {}
    with pytest.raises(Invalid, match="names x, which the repository does not have"):
        write_out(document % "true", "", {"x": None})


def test_files_and_their_variables_are_bounded() -> None:
    many = ", ".join(f"f{number}" for number in range(MAX_FILES + 1))
    with pytest.raises(Invalid, match="more than 20 files"):
        find_env_files(f"services: {{web: {{image: web, env_file: [{many}]}}}}", "")
    with pytest.raises(Invalid, match="larger than"):
        of_file(f"X={'x' * MAX_BYTES}")
    with pytest.raises(Invalid, match="at most 200 variables"):
        of_file("\n".join(f"X{number}=1" for number in range(201)))
    with pytest.raises(Invalid, match="whose name no program could read"):
        of_file("X!=1")


def test_environment_that_is_none_is_left_to_be_refused() -> None:
    document = "services: {web: {image: web, environment: words, env_file: x}}"
    with pytest.raises(Invalid, match=r"services\.web\.environment"):
        read_stack(write_out(document, "", {"x": "A=1"}))
