"""The shell script that rebases a sandbox's branch onto newer commits of the shared repository.

It runs inside, as the agent. Hooks and editors of the agent's repository take no part.
"""

from atoll.services.scripts import Script

OTHER_HEAD = 16
NO_BASE = 17
MERGING = 18
NOT_THERE = 19

# $1 folder  $2 shared repository  $3 branch of it  $4 `rebase`, `abort` or `look`
# $5 the commit of that branch outside, empty where it does not matter
# Prints, each ended by NUL: the outcome (`updated`, `current`, `conflict`, `aborted` or `clean`),
# the commit of HEAD, how many commits came in, how many stashes an autostash left behind, the git
# command that stopped (empty for none), and the files in conflict, cut after 40,000 bytes. Ends
# with one of the codes above, or with git's own.
SYNC = Script(
    "bring newer commits in",
    r"""
cd "$1" 2> /dev/null && [ -d .git ] && [ ! -L .git ] || exit 13
git rev-parse --git-dir > /dev/null 2>&1 || exit 13
store=$2 onto=$3 act=$4 outside=$5
export GIT_EDITOR=true GIT_SEQUENCE_EDITOR=true GIT_TERMINAL_PROMPT=0 LC_ALL=C
quiet() {
  git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c commit.gpgSign=false \
    -c rerere.enabled=false -c rebase.updateRefs=false "$@"
}
rebasing() { [ -d .git/rebase-merge ] || [ -d .git/rebase-apply ]; }
stopped() {
  if rebasing; then echo rebase; return; fi
  for one in MERGE_HEAD:merge CHERRY_PICK_HEAD:cherry-pick REVERT_HEAD:revert; do
    if [ -f ".git/${one%:*}" ]; then echo "${one#*:}"; return; fi
  done
}
stashes() { quiet stash list 2> /dev/null | wc -l | tr -d ' '; }
report() {
  printf '%s\0%s\0%s\0%s\0%s\0' "$1" "$(git rev-parse -q --verify HEAD)" "$count" "$left" \
    "$(stopped)"
  quiet diff --name-only --diff-filter=U -z | head -c 40000
  exit 0
}
count=0 left=0
case $act in
  look) if [ -n "$(stopped)" ]; then report conflict; else report clean; fi;;
  abort)
    command=$(stopped)
    [ -n "$command" ] || report clean
    quiet "$command" --abort >&2 || exit 14
    report aborted;;
esac
if rebasing; then report conflict; fi
for one in MERGE_HEAD CHERRY_PICK_HEAD REVERT_HEAD; do [ ! -f ".git/$one" ] || exit 18; done
git symbolic-ref -q HEAD > /dev/null || exit 16
[ -z "$outside" ] || git --git-dir="$store" cat-file -e "$outside^{commit}" || exit 19
new=$(git --git-dir="$store" rev-parse -q --verify "refs/heads/$onto^{commit}") || exit 17
git cat-file -e "$new" || exit 14
# Git keeps either `a` or `a/b`: a branch of before may have had the other name.
git for-each-ref --format='%(refname:lstrip=3)' refs/remotes/atoll | while IFS= read -r one; do
  case $one in
    "$onto"/*) ;;
    *) case $onto in "$one"/*) ;; *) continue;; esac;;
  esac
  quiet update-ref -d "refs/remotes/atoll/$one"
done
quiet update-ref "refs/remotes/atoll/$onto" "$new" || exit 14
if git show-ref -q --verify "refs/remotes/origin/$onto"; then
  quiet update-ref "refs/remotes/origin/$onto" "$new" || exit 14
fi
count=$(git rev-list --count "$new" ^HEAD) || exit 14
if [ "$count" = 0 ]; then report current; fi
before=$(stashes)
if quiet rebase -q --autostash "$new" >&2; then
  left=$(( $(stashes) - before ))
  report updated
fi
if rebasing; then report conflict; fi
exit 14
""",
    300.0,
)
