"""A sandbox `box` of a profile of the test's own, made and entered by the command people use."""

from atoll.testing.server import TestServer

SECONDS = "60"


def make_box(server: TestServer, profile: str, *more: str) -> None:
    """Save the profile's text and make `box` of it; `more` are sandboxes of the usual one."""
    file = server.home.parent / "profile.yaml"
    file.write_text(profile)
    name = profile.split("id: profile.")[1].split()[0]
    _run(server, "profile", "save", str(file))
    _run(server, "new", "--name", "box", "--profile", name, "--detach")
    for each in more:
        _run(server, "new", "--name", each, "--detach")


def inside(server: TestServer, *argv: str, name: str = "box") -> tuple[int, str, str]:
    """Run it there: exit code, output, errors."""
    done = server.run("exec", "--timeout", SECONDS, name, "--", *argv)
    return done.returncode, done.stdout, done.stderr


def says(server: TestServer, line: str, name: str = "box") -> str:
    """What a shell line says there, on both of its streams."""
    _code, out, errors = inside(server, "sh", "-c", line, name=name)
    return (out + errors).strip()


def _run(server: TestServer, *words: str) -> None:
    done = server.run(*words)
    assert done.returncode == 0, done.stderr
