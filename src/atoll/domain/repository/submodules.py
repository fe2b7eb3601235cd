"""Submodules and LFS objects of a working tree: what comes along, and what is left out.

A submodule comes along where its commit is in a shared repository of this host, and so does one
that lies in another. Everything else is named, so that its person brings it.
"""

from typing import Final

from atoll.domain.errors import AtollError, Invalid
from atoll.domain.repository.repository import read_remote
from atoll.wire.git.checkpoints import MAX_DEPTH, MAX_SUBMODULES

MODULES: Final = ".gitmodules"
MAX_MODULES_BYTES: Final = 64 * 1024
# Functions of PREPARE, which run in the tree. `bring_submodules` lays out each submodule whose
# commit a mounted repository has, with objects of its own: the mount may be another one later. What
# lies in it follows. $1 of both is how deep they are in submodules, $2 the path of the one they are
# in.
LEFT_OUT: Final = r"""
links() {
  git -c core.fsmonitor=false -c core.quotePath=false ls-files -s |
    sed -n 's/^160000 \([0-9a-f]*\) 0.\(.*\)/\1 \2/p'
}
bring_submodules() {
  set +e
  links | while read -r one path; do
    [ -d "$path" ] && [ ! -L "$path" ] && [ ! -e "$path/.git" ] || continue
    for other in /.atoll/repos/*.git; do
      git --git-dir="$other" cat-file -e "$one^{commit}" 2> /dev/null || continue
      (
        set -e
        cd "./$path"
        git init -q --template= .
        mkdir -p .git/objects/info
        printf '%s\n' "$other/objects" > .git/objects/info/alternates
        git checkout -q --detach "$one" --
        git repack -adq
        rm .git/objects/info/alternates
      ) || { rm -rf "./$path/.git"; continue; }
      git submodule -q init -- "$path" && git submodule -q absorbgitdirs -- "$path"
      name=$(git config -f .gitmodules --get-regexp '^submodule\..*\.path$' |
        while IFS= read -r line; do
          line=${line#submodule.}
          if [ "${line#*.path }" = "$path" ]; then echo "${line%%.path *}"; fi
        done)
      url=$(git config "submodule.$name.url") && git -C "$path" config remote.origin.url "$url"
      [ "$1" -ge MAX_DEPTH ] || (cd "./$path" && bring_submodules $(($1 + 1)))
      break
    done
  done
}
pointers() {
  if git -c core.fsmonitor=false grep -q 'filter=lfs' -- ':(glob)**/.gitattributes'; then
    git -c core.fsmonitor=false grep -lI -e '^version https://git-lfs.github.com/spec/v1$'
  fi
  [ "$1" -lt MAX_DEPTH ] || return 0
  links | head -n MAX_SUBMODULES | while read -r one path; do
    if [ -e "$path/.git" ] && [ ! -L "$path" ]; then (cd "./$path" && pointers $(($1 + 1))); fi
  done
}
left_out() {
  pointers 0 | (lfs=0; while IFS= read -r _; do lfs=$((lfs + 1)); done; printf '%s\0' "$lfs")
  missing_submodules 0 '' | head -c 100000
}
missing_submodules() {
  links | head -n MAX_SUBMODULES | while read -r one path; do
    if [ ! -e "$path/.git" ]; then printf '%s\0' "$2$path"
    elif [ "$1" -lt MAX_DEPTH ] && [ ! -L "$path" ]; then
      (cd "./$path" && missing_submodules $(($1 + 1)) "$2$path/")
    fi
  done
}
""".replace("MAX_DEPTH", str(MAX_DEPTH)).replace("MAX_SUBMODULES", str(MAX_SUBMODULES))


def read_left_out(printed: bytes) -> tuple[tuple[str, ...], int] | None:
    """Return the submodules and the count of LFS files that PREPARE printed; None where it printed
    nothing that can be read. An agent may have written it."""
    count, *paths = [one.decode("utf-8", "replace") for one in printed.split(b"\0")]
    if not (count.isascii() and count.isdecimal() and len(count) < 10):
        return None
    named = (path[:500] for path in paths[:MAX_SUBMODULES] if path)
    return tuple(path if path.isprintable() else repr(path) for path in named), int(count)


def remotes_of(modules: bytes, parent: str) -> tuple[str, ...]:
    """Return the keys of the repositories that a `.gitmodules` names, as far as they are remotes:
    an address may be relative to `parent`, that of the repository it lies in."""
    found = []
    for line in modules.decode("utf-8", "replace").splitlines():
        name, _, value = line.partition("=")
        if name.strip() != "url" or not value.strip():
            continue
        try:
            found.append(read_remote(_absolute(value.strip(), parent), allow_loopback=True).key)
        except AtollError:
            continue
    return tuple(dict.fromkeys(found))[:MAX_SUBMODULES]


def _absolute(url: str, parent: str) -> str:
    if not url.startswith(("./", "../")):
        return url
    base = parent.rstrip("/").split("/")
    for word in url.split("/"):
        if word == ".." and len(base) > 3:
            base.pop()
        elif word == "..":
            raise Invalid(f"{url[:200]!r} leads out of {parent}.")
        elif word not in (".", ""):
            base.append(word)
    return "/".join(base)
