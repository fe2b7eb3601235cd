"""Safety layer 1: shell functions that warn before the most dangerous commands. Text only.

A help, not a guard: `command rm`, a path, or any other program bypasses it. So it refuses little
and gives the reason.
"""

GUARD = r"""# Read by bash and zsh in this sandbox (Atoll, safety layer 1).
# A convenience: `command NAME …` passes it by.
__atoll_warn() {
  printf 'atoll: %s was not run: %s. If you mean it: command %s\n' "$1" "$2" "$3" >&2
  return 1
}
rm() {
  local word deep=
  for word in "$@"; do
    case $word in --recursive | -[!-]*[rR]* | -[rR]*) deep=yes ;; esac
  done
  if [ -n "$deep" ]; then
    for word in "$@"; do
      case $word in
        / | /. | // | "/*" | "$HOME" | "$HOME/" | /workspace | /workspace/ | . | ./ | .. | ../)
          __atoll_warn rm "it takes away $word and all below it" "rm $*"
          return 1 ;;
      esac
    done
  fi
  command rm "$@"
}
git() {
  local word act= forced=
  for word in "$@"; do
    case $word in
      push | reset) [ -n "$act" ] || act=$word ;;
      --force | -f | +*) [ "$act" = push ] && forced=$word ;;
      --hard) [ "$act" = reset ] && forced=$word ;;
      --delete | --mirror) [ "$act" = push ] && forced=$word ;;
    esac
  done
  if [ -n "$forced" ]; then
    case $act in
      push) __atoll_warn "git push" "$forced rewrites what others may have" "git $*" ;;
      reset) __atoll_warn "git reset" "$forced throws away what is not committed" "git $*" ;;
    esac
    return 1
  fi
  command git "$@"
}
chmod() {
  local word deep= open=
  for word in "$@"; do
    case $word in
      -R | --recursive) deep=yes ;;
      777 | 0777 | a+rwx | ugo+rwx) open=$word ;;
    esac
  done
  if [ -n "$deep" ] && [ -n "$open" ]; then
    __atoll_warn "chmod -R $open" "it opens everything below to everybody" "chmod $*"
    return 1
  fi
  command chmod "$@"
}
"""
