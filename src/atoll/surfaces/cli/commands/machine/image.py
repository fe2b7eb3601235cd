"""`atoll image`: the roots on this machine, unpacked once for every sandbox.

Works on the home directly, as the person who owns it: no server is needed.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from atoll.client.fields import Json
from atoll.domain.size import MIB
from atoll.surfaces.cli.console.exits import FAILED
from atoll.surfaces.cli.console.invocation import LOCAL, Invocation, needs, pass_invocation
from atoll.surfaces.cli.console.options import json_option, yes_option
from atoll.surfaces.cli.console.output import confirm, note, say, show_json, show_table
from atoll.surfaces.cli.dispatch.several import Several
from atoll.surfaces.cli.dispatch.verbs import Verbs

if TYPE_CHECKING:
    from atoll.ports.images import ImageShelf, Tree

BUILD = "build:"


@click.group("image", cls=Verbs)
def command() -> None:
    """List, import, pull, build and remove roots for sandboxes."""


@needs(LOCAL)
@command.command("list")
@json_option()
@pass_invocation
def list_(invocation: Invocation, *, as_json: bool) -> None:
    """List the roots that are here."""
    trees = list(_shelf(invocation).list())
    if as_json:
        show_json({"images": [_tree_json(tree) for tree in trees]})
    else:
        show_table(("IMAGE", "SIZE", "FILES", "DIGEST"), [_tree_row(tree) for tree in trees])


@needs(LOCAL)
@command.command("import")
@click.argument("name")
@click.argument("source", metavar="FILE", type=click.Path(exists=True, path_type=Path))
@json_option()
@pass_invocation
def import_(invocation: Invocation, name: str, source: Path, *, as_json: bool) -> None:
    """Unpack FILE as NAME.

    FILE is the tar of a root, an OCI layout (folder or tar) or what `docker save` wrote.
    """
    _show([_shelf(invocation).take(name, source, note)], "imported", as_json=as_json)


@needs(LOCAL)
@command.command("pull")
@click.argument("references", metavar="REFERENCE...", nargs=-1, required=True)
@json_option()
@pass_invocation
def pull(invocation: Invocation, references: tuple[str, ...], *, as_json: bool) -> None:
    """Fetch images from their registry and unpack them, once per digest."""
    shelf = _shelf(invocation)
    several = Several(invocation, len(references))
    trees = several.each(references, lambda reference: shelf.pull(reference, note))
    _show(trees, "pulled", as_json=as_json)
    several.end()


@needs(LOCAL)
@command.command("build")
@click.argument("name")
@click.option("--again", is_flag=True, help="Run every step again, even if nothing changed.")
@json_option()
@pass_invocation
def build(invocation: Invocation, name: str, *, again: bool, as_json: bool) -> None:
    """Have the Docker daemon build the folder NAME of the home's images, which has a Dockerfile.

    A profile asks for it by `image: build:NAME`, and builds it by itself when it changed.
    """
    built = invocation.host().builder(invocation.home.absolute()).build(name, note, again=again)
    if as_json:
        show_json({"name": built.name, "id": built.id, "new": built.new})
    else:
        say(f"{'built' if built.new else 'was built already'} {BUILD}{built.name} {built.id[:19]}")


@needs(LOCAL)
@command.command("rm")
@click.argument("name")
@yes_option()
@json_option()
@pass_invocation
def rm(invocation: Invocation, name: str, *, yes: bool, as_json: bool) -> None:
    """Remove a root, or what was built of the folder NAME (`build:NAME`); sandboxes that
    stand on it keep it from being removed."""
    if not confirm(f"Remove the image {name} from this machine?", yes=yes):
        raise click.exceptions.Exit(FAILED)
    if name.startswith(BUILD):
        builder = invocation.host().builder(invocation.home.absolute())
        tags = builder.remove(name.removeprefix(BUILD))
        if as_json:
            show_json({"removed": list(tags)})
        for tag in () if as_json else tags:
            say(f"removed {tag}")
        return
    _show([_shelf(invocation).remove(name)], "removed", as_json=as_json)


@needs(LOCAL)
@command.command("prune")
@json_option()
@pass_invocation
def prune(invocation: Invocation, *, as_json: bool) -> None:
    """Remove what was pulled and nothing refers to any more."""
    _show(_shelf(invocation).prune(), "removed", as_json=as_json)


def _shelf(invocation: Invocation) -> "ImageShelf":
    return invocation.host().images(invocation.home.absolute())


def _show(trees: "Sequence[Tree]", what: str, *, as_json: bool) -> None:
    if as_json:
        show_json({"images": [_tree_json(tree) for tree in trees]})
        return
    for tree in trees:
        say(f"{what} {tree.name}")
        if tree.left_out:
            note(f"atoll: left out {tree.left_out} devices, pipes or sockets")


def _tree_json(tree: "Tree") -> dict[str, Json]:
    return {
        "name": tree.name,
        "path": tree.path,
        "digest": tree.digest,
        "bytes": tree.bytes,
        "files": tree.files,
        "env": dict(tree.env),
        "left_out": tree.left_out,
    }


def _tree_row(tree: "Tree") -> tuple[str, ...]:
    size = f"{tree.bytes / MIB:.0f} MiB" if tree.bytes else "-"
    return (tree.name, size, str(tree.files or "-"), (tree.digest or "-")[:19])
