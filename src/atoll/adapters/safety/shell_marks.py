"""Shell scripts that report to the terminal where commands begin and end. Text only.

The marks are OSC 633 (VS Code's), each ended by the terminal's nonce, which the scripts remove from
the environment. A person's own files are read as usual and never changed: bash comes here by
PROMPT_COMMAND before its first prompt, zsh by ZDOTDIR, fish by a vendor directory.
"""

BASH = r"""# Read by bash before its first prompt in this sandbox (Atoll).
__atoll_here='. @HERE@/marks.bash'
__atoll_nonce=${ATOLL_NONCE-}
unset ATOLL_NONCE
[ -r @HERE@/guard.sh ] && . @HERE@/guard.sh
export -n PROMPT_COMMAND
for __atoll_at in "${!PROMPT_COMMAND[@]}"; do
  PROMPT_COMMAND[__atoll_at]=${PROMPT_COMMAND[__atoll_at]//"$__atoll_here"/__atoll_prompt}
done
unset __atoll_at __atoll_here
__atoll_escape() {
  __atoll_text=${1:0:2000}
  __atoll_text=${__atoll_text//\\/\\\\}
  __atoll_text=${__atoll_text//;/\\x3b}
  __atoll_text=${__atoll_text//$'\n'/\\x0a}
  __atoll_text=${__atoll_text//$'\e'/\\x1b}
  __atoll_text=${__atoll_text//$'\a'/\\x07}
}
# Before a command runs, in a subshell. History knows its line, unless it was told not to.
__atoll_begin() {
  local line form='^ *([0-9]+)\*? +(.*)$'
  line=$(HISTTIMEFORMAT= history 1)
  if [[ $line =~ $form ]] && [ "${BASH_REMATCH[1]}" -ge "${__atoll_next:-0}" ]; then
    __atoll_escape "${BASH_REMATCH[2]}"
    printf '\e]633;E;%s;%s\a' "$__atoll_text" "$__atoll_nonce"
  fi
  printf '\e]633;C;%s\a' "$__atoll_nonce"
}
__atoll_prompt() {
  local code=$? number='\!'
  if [ -n "$__atoll_ran" ]; then printf '\e]633;D;%s;%s\a' "$code" "$__atoll_nonce"; fi
  __atoll_ran=
  __atoll_escape "$PWD"
  printf '\e]633;P;Cwd=%s;%s\a' "$__atoll_text" "$__atoll_nonce"
  __atoll_next=${number@P}
  if [ "$PS1" != "$__atoll_ps1" ]; then
    __atoll_ps1='\[\e]633;A;${__atoll_nonce}\a\]'$PS1'\[\e]633;B;${__atoll_nonce}\a\]'
    PS1=$__atoll_ps1
  fi
  if [ "$PS0" != "$__atoll_ps0" ] || [ -z "$PS0" ]; then
    __atoll_ps0='${__atoll_nonce:$((__atoll_ran=1,0)):0}$(__atoll_begin)'$PS0
    PS0=$__atoll_ps0
  fi
  return "$code"
}
__atoll_prompt
"""

ZSHENV = r"""# Read by zsh first in this sandbox (Atoll): the person's own .zshenv.
unset ZDOTDIR
[ -r "$HOME/.zshenv" ] && . "$HOME/.zshenv"
if [[ -o interactive ]]; then
  __atoll_zdotdir=${ZDOTDIR-}
  ZDOTDIR=@HERE@
fi
"""

ZPROFILE = r"""__atoll_from=${__atoll_zdotdir:-$HOME}
[ -r "$__atoll_from/.zprofile" ] && . "$__atoll_from/.zprofile"
unset __atoll_from
"""

ZSHRC = r"""# Read by an interactive zsh in this sandbox (Atoll), around the person's own.
if [[ -n $__atoll_zdotdir ]]; then ZDOTDIR=$__atoll_zdotdir; else unset ZDOTDIR; fi
unset __atoll_zdotdir
[ -r "${ZDOTDIR:-$HOME}/.zshrc" ] && . "${ZDOTDIR:-$HOME}/.zshrc"
[ -r @HERE@/guard.sh ] && . @HERE@/guard.sh
__atoll_nonce=${ATOLL_NONCE-}
unset ATOLL_NONCE
__atoll_escape() {
  __atoll_text=${1[1,2000]}
  __atoll_text=${__atoll_text//\\/\\\\}
  __atoll_text=${__atoll_text//;/\\x3b}
  __atoll_text=${__atoll_text//$'\n'/\\x0a}
  __atoll_text=${__atoll_text//$'\e'/\\x1b}
  __atoll_text=${__atoll_text//$'\a'/\\x07}
}
__atoll_preexec() {
  __atoll_ran=1
  __atoll_escape "$1"
  printf '\e]633;E;%s;%s\a\e]633;C;%s\a' "$__atoll_text" "$__atoll_nonce" "$__atoll_nonce"
}
__atoll_precmd() {
  local code=$?
  [[ -n $__atoll_ran ]] && printf '\e]633;D;%s;%s\a' "$code" "$__atoll_nonce"
  __atoll_ran=
  __atoll_escape "$PWD"
  printf '\e]633;P;Cwd=%s;%s\a' "$__atoll_text" "$__atoll_nonce"
  if [[ $PS1 != $__atoll_ps1 ]]; then
    local begin=$'%{\e]633;A;'$__atoll_nonce$'\a%}' end=$'%{\e]633;B;'$__atoll_nonce$'\a%}'
    __atoll_ps1=$begin$PS1$end
    PS1=$__atoll_ps1
  fi
}
precmd_functions=(__atoll_precmd $precmd_functions)
preexec_functions=(__atoll_preexec $preexec_functions)
"""

FISH = r"""# Read by fish at its start in this sandbox (Atoll).
set -l here (contains -i -- @HERE@ $XDG_DATA_DIRS); and set -e XDG_DATA_DIRS[$here]
if status is-interactive
    set -g __atoll_nonce $ATOLL_NONCE
    set -e ATOLL_NONCE
    function __atoll_escape
        string sub -l 2000 -- (string join \n -- $argv) | string replace -a -- \\ \\\\ \
            | string replace -a -- ';' '\\x3b' | string replace -a -- \e '\\x1b' \
            | string replace -a -- \a '\\x07' | string join '\\x0a'
    end
    function __atoll_preexec --on-event fish_preexec
        printf '\e]633;E;%s;%s\a' (__atoll_escape $argv[1] | string collect) $__atoll_nonce
        printf '\e]633;C;%s\a' $__atoll_nonce
    end
    function __atoll_postexec --on-event fish_postexec
        printf '\e]633;D;%s;%s\a' $status $__atoll_nonce
    end
    function __atoll_prompt --on-event fish_prompt
        printf '\e]633;P;Cwd=%s;%s\a' (__atoll_escape $PWD | string collect) $__atoll_nonce
        printf '\e]633;A;%s\a' $__atoll_nonce
    end
end
"""


def scripts(here: str) -> dict[str, str]:
    """Return the files by path, for a directory that is seen at `here`."""
    files = {
        "marks.bash": BASH,
        ".zshenv": ZSHENV,
        ".zprofile": ZPROFILE,
        ".zshrc": ZSHRC,
        "fish/vendor_conf.d/atoll.fish": FISH,
    }
    return {name: text.replace("@HERE@", here) for name, text in files.items()}


def environment(here: str) -> tuple[tuple[str, str], ...]:
    """Return the variables that make shells read them."""
    return (
        ("PROMPT_COMMAND", f". {here}/marks.bash"),
        ("ZDOTDIR", here),
        ("XDG_DATA_DIRS", f"{here}:/usr/local/share:/usr/share"),
    )
