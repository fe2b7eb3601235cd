"""`atoll completion`: the script that lets a shell complete commands, options and names."""

import click
from click.shell_completion import get_completion_class

from atoll.domain.errors import Failed

_INSTALL = {
    "bash": 'eval "$(atoll completion bash)"    # in ~/.bashrc',
    "zsh": 'eval "$(atoll completion zsh)"    # in ~/.zshrc',
    "fish": "atoll completion fish > ~/.config/fish/completions/atoll.fish",
}


@click.command("completion", epilog="bash: " + _INSTALL["bash"])
@click.argument("shell", type=click.Choice(list(_INSTALL)))
@click.pass_context
def command(context: click.Context, shell: str) -> None:
    """Print the completion script of a shell."""
    kind = get_completion_class(shell)
    if kind is None:
        raise Failed(f"no completion for {shell} in this version of click")
    root = context.find_root().command
    click.echo(f"# {_INSTALL[shell]}")
    click.echo(kind(root, {}, "atoll", "_ATOLL_COMPLETE").source())
