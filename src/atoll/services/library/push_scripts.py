"""The shell scripts of `git push` inside a sandbox: where a push that may not leave is held.

Such a push lands in a bare repository below `.git`, inside the sandbox's own quota. All of it runs
inside, as the agent; the host takes a bundle out and checks it.
"""

from atoll.services.scripts import Script

MAX_HELD = 32
"""Branches that one repository of a sandbox may hold."""

# A function of PREPARE, which sets: the working directory, $store, $url, $label (the name of the
# sandbox) and $number (of the repository). Pushes to `atoll`, and to `origin` unless the broker may
# push there, go to .git/atoll/pushed.git: git prefers the longest `pushInsteadOf`, and the broker's
# names the whole address. Nothing is borrowed from the working repository, which may be pruned.
QUARANTINE = r"""
quarantine() {
held=$PWD/.git/atoll/pushed.git
mkdir -p "$held/objects/info" "$held/objects/pack" "$held/refs/heads" "$held/hooks" .git/atoll/to
printf 'ref: refs/heads/none\n' > "$held/HEAD"
printf '%s\n' "$store/objects" > "$held/objects/info/alternates"
cat > "$held/config" << END
[core]
	repositoryformatversion = 0
	bare = true
	hooksPath = $held/hooks
[receive]
	fsckObjects = true
	autogc = false
[transfer]
	hideRefs = refs/atoll
END
cat > "$held/hooks/update" << 'END'
#!/bin/sh
LC_ALL=C
name=${1#refs/heads/}
if [ "$name" = "$1" ]; then
  echo "Only branches are held for the owner, and $1 is none: push a branch." >&2; exit 1
fi
case $3 in
  *[!0]*) ;;
  *) echo "Only the owner drops a held branch: atoll pull NAME --pushed $name --drop" >&2; exit 1;;
esac
case $name in
  -* | *[!A-Za-z0-9._/@+=,#-]*)
    echo "A held branch has a plain name: letters, digits and . _ / @ + = , # -" >&2; exit 1;;
esac
if [ "${#name}" -gt 200 ]; then echo "This name is longer than 200 characters." >&2; exit 1; fi
case $2 in *[!0]*) exit 0;; esac
if [ "$(git for-each-ref refs/heads | wc -l)" -ge MAX_HELD ]; then
  echo "MAX_HELD branches are held already: push to one of them." >&2; exit 1
fi
END
cat > "$held/hooks/post-receive" << END
#!/bin/sh
names=
while read -r old new ref; do
  name=\${ref#refs/heads/}
  names="\$names \$name"
  case \$old in *[!0]*) again=", in place of what it was";; *) again=;; esac
  echo "Held for the owner of $label: branch \$name\$again. It was not sent anywhere."
  echo "Its owner pulls it with:"
  echo "  atoll pull $label --pushed \$name"
done
if [ -x /.atoll/init ]; then /.atoll/init ask pushed -- true $number \$names > /dev/null 2>&1; fi
exit 0
END
chmod 755 "$held/hooks/update" "$held/hooks/post-receive"
{
  printf '[remote "atoll"]\n\tpushurl = %s\n' "$held"
  if [ -z "$url" ]; then printf '[remote "origin"]\n\tpushurl = %s\n' "$held"
  else
    leaf=${url##*/}
    ln -sfn ../pushed.git ".git/atoll/to/${leaf%.git}.git"
    printf '[url "%s/.git/atoll/to/"]\n\tpushInsteadOf = %s/\n' "$PWD" "${url%/*}"
  fi
} >> .git/config
}
""".replace("MAX_HELD", str(MAX_HELD))

# $1 folder  $2 shared repository
# Prints each held branch that was not taken out as it is now: commit, name, how many commits are
# new, and the subject of the newest, each ended by NUL. Prints nothing where no push is held.
WAITING = Script(
    "look for held pushes",
    r"""
cd "$1/.git/atoll/pushed.git" 2> /dev/null || exit 0
export GIT_DIR=. GIT_OPTIONAL_LOCKS=0
store=$2
here() { git --git-dir="$store" for-each-ref --format='^%(objectname)' refs/heads refs/tags; }
git for-each-ref --count=64 --format='%(objectname) %(refname:lstrip=2)' refs/heads |
while read -r commit name; do
  [ "$(git rev-parse -q --verify "refs/atoll/taken/$name")" != "$commit" ] || continue
  printf '%s\0%s\0' "$commit" "$name"
  here | git rev-list --count "$commit" --stdin | tr '\n' '\0'
  git -c log.showSignature=false log -1 --no-color --encoding=UTF-8 --format=%s "$commit" |
    cut -c 1-200 | tr '\n' '\0'
done | head -c 40000
""",
    60.0,
    unrecorded=True,
)

# Arguments as for BUNDLE of `checkout_scripts`, and its codes; $4 is refs/heads/NAME.
HELD_BUNDLE = Script(
    "bundle a held push",
    r"""
cd "$1/.git/atoll/pushed.git" 2> /dev/null || exit 13
export GIT_DIR=.
store=$2 out=$3 what=$4
git show-ref --verify -q "$what" || exit 11
here() { git --git-dir="$store" for-each-ref --format='^%(objectname)' refs/heads refs/tags; }
new=$(here | git rev-list --count --max-count=1 "$what" --stdin) || exit 14
[ "$new" != 0 ] || exit 12
ulimit -f "$5"
here | git bundle create -q "$out" "$what" --stdin
""",
    300.0,
)

# $1 folder  $2 branch  $3 commit. Marks a held branch as taken out.
TAKEN = Script(
    "mark a held push as taken",
    r"""
cd "$1/.git/atoll/pushed.git" 2> /dev/null || exit 0
GIT_DIR=. git update-ref "refs/atoll/taken/$2" "$3"
""",
    60.0,
)
