"""`atoll completion`: the script that lets a shell complete commands, options and names."""

import click
from click.shell_completion import get_completion_class

from atoll.domain.errors import Failed
from atoll.surfaces.cli.console.invocation import LOCAL, needs

_INSTALL = {
    "bash": 'eval "$(atoll completion bash)"    # in ~/.bashrc',
    "zsh": 'eval "$(atoll completion zsh)"    # in ~/.zshrc',
    "fish": "atoll completion fish > ~/.config/fish/completions/atoll.fish",
}

_BASH = r"""_atoll_completion() {
    # Bash splits words at colons: the line is sent as it is, and what stands before the last
    # colon is taken off each answer.
    local line=${COMP_LINE:0:COMP_POINT} words last answer kind value before
    read -ra words <<< "$line"
    case $line in *[[:space:]]) words+=("") ;; esac
    last=${words[${#words[@]} - 1]}
    before=
    case $last in *:*) before=${last%"${last##*:}"} ;; esac
    COMPREPLY=()
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"$before"}")
                case $value in *[:/]) compopt -o nospace ;; esac ;;
        esac
    done < <(COMP_WORDS=$line COMP_CWORD=$((${#words[@]} - 1)) _ATOLL_COMPLETE=bash_complete "$1")
}
complete -o nosort -F _atoll_completion atoll"""


@needs(LOCAL)
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
    source = kind(root, {}, "atoll", "_ATOLL_COMPLETE").source()
    click.echo(_BASH if shell == "bash" else source)
