"""A tree that came from a sandbox into a fresh folder here, checked before it takes its place."""

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from atoll.domain.errors import Invalid
from atoll.domain.files.outgoing_file import (
    ASIDE,
    FileDecision,
    aside,
    is_own_folder,
    judge,
    makes_repository,
    repositories,
)
from atoll.surfaces.cli.console.output import note

SHOWN = 10


@dataclass(frozen=True, slots=True)
class Notices:
    """Notices about a tree that others wrote, by path."""

    left_out: list[str] = field(default_factory=list)
    stayed: list[str] = field(default_factory=list)
    renamed: list[str] = field(default_factory=list)
    flagged: list[str] = field(default_factory=list)

    def print(self) -> None:
        """Print the findings, each list cut at ten names."""
        for what, names in (
            ("left out links that lead out of the tree, and special files", self.left_out),
            ("left inside, because git would take it for a repository", self.stayed),
            (f"renamed what git would use, with the ending {ASIDE}", self.renamed),
            ("look at these before you use them; they can run something here", self.flagged),
        ):
            if names:
                more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
                note(f"{what}: {', '.join(names[:SHOWN])}{more}")


def refuse_within_repository(target: Path) -> None:
    """Raise `Invalid` where the entry `target` would lie in a repository of git's, or make one
    together with what lies there already, in its folder or further up.

    Git looks upwards from where it runs. It stops at a work tree, and so does this.
    """
    repository = _repository_around(target)
    if repository is not None:
        raise Invalid(
            f"{target} would be part of a git repository at {repository}, whose settings run here: "
            "name another place"
        )


def _repository_around(target: Path) -> Path | None:
    place = target.parent.resolve() / target.name
    if is_own_folder(place.name):
        return place
    if any(map(is_own_folder, entry_names(place))):
        return None
    coming = [place.name]
    for folder in place.parents:
        if is_own_folder(folder.name):
            return folder
        names = [*coming, *entry_names(folder)]
        if makes_repository(names):
            return folder
        if any(map(is_own_folder, names)):
            return None
        coming = []
    return None


def entry_names(folder: Path) -> list[str]:
    """Return the names in a folder; of one that cannot be read, those that git would look for."""
    try:
        return [each.name for each in folder.iterdir()]
    except FileNotFoundError:
        return []
    except OSError:
        looked_for = (".git", "HEAD", "objects", "refs", "commondir")
        return [name for name in looked_for if os.path.lexists(folder / name)]


def take_repositories_out(tree: Path, notices: Notices) -> None:
    """Remove what git would take for a repository. Raises `Invalid` where all of it is one."""
    folders = repositories(path for path, _ in entries(tree))
    if "" in folders:
        raise Invalid(
            "this folder is a git repository, which is never copied out as one: `atoll pull` "
            "fetches its commits, and `atoll cp NAME:PATH -` its files as tar"
        )
    for path, mode in entries(tree):
        if judge(path, folders) is FileDecision.STAYS:
            notices.stayed.append(path)
            _remove(tree / path)
        elif _is_flagged(path, folders, mode):
            notices.flagged.append(path)


def disarm_repositories(tree: Path, notices: Notices) -> None:
    """Give other names to what makes repositories, so that all of it is kept and git finds none.
    Raises `Invalid` where such a name is taken."""
    listed = list(entries(tree))
    folders = repositories(path for path, _ in listed)
    # The deepest first: a path stays good until what lies below it is done.
    for path, mode in reversed(listed):
        kept_as = aside(path, folders)
        if kept_as is not None:
            _rename(tree / path, kept_as)
            notices.renamed.append(path)
        elif _is_flagged(path, folders, mode):
            notices.flagged.append(path)
    notices.renamed.sort()
    notices.flagged.sort()


def entries(tree: Path) -> Iterator[tuple[str, int]]:
    """Yield every entry below the folder with its mode, folders before what they hold; no link is
    followed. What is removed meanwhile is passed over."""
    for folder, names, files in os.walk(tree):
        below = Path(folder).relative_to(tree)
        for name in sorted((*names, *files)):
            yield str(below / name), Path(folder, name).lstat().st_mode
        names[:] = sorted(name for name in names if os.path.lexists(Path(folder, name)))


def _is_flagged(path: str, folders: frozenset[str], mode: int) -> bool:
    program = stat.S_ISREG(mode) and bool(mode & 0o111)
    verdict = judge(path, folders, executable=program)
    return verdict is FileDecision.FLAGGED and not stat.S_ISDIR(mode)


def _rename(path: Path, name: str) -> None:
    target = path.with_name(name)
    if os.path.lexists(target):
        raise Invalid(f"the files hold both {path.name} and {name}: rename one inside")
    path.rename(target)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()
