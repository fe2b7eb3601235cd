"""The scripts that run on a machine, for POSIX sh. Arguments come as words, never inside the text.

Everything of one Atoll lies below `~/.atoll/TAG`, mode 0700: programs by their digest, folders that
are sent once, and a folder for each sandbox.
"""

from typing import Final

FACTS: Final = r"""
set -eu
base="$HOME/.atoll/$1"; shift
umask 077; mkdir -p "$base/bin" "$base/sent" "$base/boxes"
echo "machine $(uname -s) $(uname -m)"
echo "base $base"
for n in bin sbin lib lib64 lib32 libx32; do
  if [ -L "/$n" ]; then echo "link $n $(readlink "/$n")"
  elif [ -d "/$n" ]; then echo "folder $n"; fi
done
for p; do
  if [ -d "$p" ]; then echo "masked-folder $p"; elif [ -r "$p" ]; then echo "masked-file $p"; fi
done
"""
"""Words: the tag, then what of /proc must be hidden. Prints facts, a line each."""

HAS: Final = r"""
[ -e "$1/.atoll-complete" ]
"""
"""Word: a folder. Ends with 0 when it was sent whole."""

UNPACK: Final = r"""
set -eu
umask 022; mkdir -p "$(dirname "$1")"; chmod 700 "$(dirname "$1")"
new="$1.new.$$"; rm -rf "$new"; mkdir "$new"
tar -x -C "$new" -f - --no-same-owner
[ -e "$new/.atoll-complete" ] || { rm -rf "$new"; echo "not all of it came" >&2; exit 1; }
if [ -e "$1" ]; then chmod -R u+w "$1"; rm -rf "$1"; fi
mv "$new" "$1"
"""
"""Word: a folder, which becomes what the archive on its input holds."""

LISTING: Final = r"""
umask 022; mkdir -p "$1" && cd "$1" && find . -type f -printf '%s %P\0'
"""
"""Word: a folder. Prints size and name of each file below it, ended by NUL."""

UPDATE: Final = r"""
set -eu
umask 022; cd "$1"; shift
new=.atoll-new.$$
trap 'cd / && rm -rf "$OLDPWD/$new"' EXIT
mkdir -p objects refs "$new/objects"  # an empty repository has no file below them
tar -x -f - --no-same-owner -C "$new"
[ -e "$new/.atoll-complete" ] || { echo "not all of it came" >&2; exit 1; }
cd "$new"; rm .atoll-complete
find . -type d -exec mkdir -p ../{} \;
find objects -type f -exec mv -f {} ../{} \;
find . -type f -exec mv -f {} ../{} \;
cd ..
for name; do rm -f "./$name"; done
"""
"""Words: the folder of a repository, and the files to remove. Its input is an archive of what is
new there. Each file comes to its place whole, objects first: git may read meanwhile."""

PROBE: Final = r"""
LD_LIBRARY_PATH="$1" exec "$1/bwrap" --unshare-all --unshare-user --disable-userns --cap-drop ALL \
  --ro-bind / / --proc /proc true
"""
"""Word: the programs. Ends with 0 when an ordinary user may build a wall here."""

RUNNING: Final = r"""
pid=$(cat "$1/pid" 2>/dev/null) || exit 1
[ "$(cat "$1/generation" 2>/dev/null)" = "$2" ] || exit 1
tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF "$1/link.sock"
"""
"""Words: a sandbox's folder, a generation. Ends with 0 when its link runs."""

BOOT: Final = "/proc/sys/kernel/random/boot_id"
"""Changes with each start of a machine, random(4)."""

WHY_GONE: Final = rf"""
[ "$(cat "$1/generation" 2>/dev/null)" = "$2" ] || {{ echo "its files there are gone"; exit 1; }}
pid=$(cat "$1/pid" 2>/dev/null) || {{ echo "it was stopped there"; exit 1; }}
tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF "$1/link.sock" && exit 0
if [ -e "$1/boot" ] && [ "$(cat "$1/boot")" != "$(cat {BOOT})" ]; then
  echo "that machine was started anew"
else
  echo "the link there ended, and every program with it"
fi
exit 1
"""
"""Words: a sandbox's folder, a generation. Ends with 0 when its link runs, else prints why not."""

STOP: Final = r"""
set -u
[ -d "$1" ] || exit 0
pid=$(cat "$1/pid" 2>/dev/null) || pid=
ours() { tr '\0' '\n' <"/proc/$pid/cmdline" 2>/dev/null | grep -qxF "$1/link.sock"; }
if [ -n "$pid" ] && ours "$1"; then
  kill "$pid"; n=0
  while ours "$1"; do
    n=$((n+1)); [ $n -gt 100 ] && kill -9 "$pid"; [ $n -gt 120 ] && exit 3; sleep 0.1
  done
  echo "processes"
fi
rm -f "$1/pid" "$1/link.sock"
if [ "$2" = remove ]; then
  chmod -R u+rwX "$1" 2>/dev/null; rm -rf "$1" && echo "workspace and agent state"
fi
"""
"""Words: a sandbox's folder, `keep` or `remove`. Prints what was removed, a line each."""

PREPARE: Final = r"""
set -eu
umask 077; mkdir -p "$1"
if [ "$2" = fresh ] && [ -d "$1/workspace" ]; then
  chmod -R u+rwX "$1/workspace" "$1/state"; rm -rf "$1/workspace" "$1/state"
fi
mkdir -p "$1/workspace" "$1/state"
rm -rf "$1/etc"; mkdir "$1/etc"; tar -x -C "$1/etc" -f - --no-same-owner
box=$1; shift 2
for name; do mkdir -p "$box/state/$name"; done
"""
"""Words: a sandbox's folder, `fresh` or `kept`, the names of agents' state. Its input is an archive
of the sandbox's etc."""

START: Final = r"""
set -eu
box=$1 programs=$2 generation=$3 grace=$4; shift 4
printf %s "$generation" >"$box/generation"
rm -f "$box/link.sock" "$box/pid"
said=$("$programs/link" serve --socket "$box/link.sock" --grace "$grace" --daemon -- \
  env "LD_LIBRARY_PATH=$programs" sh -c 'filter=$1; shift; exec "$@" 9<"$filter"' sh "$@" 2>&1
) || { echo "$said" >&2; exit 1; }
pid=${said#ready }
case $pid in *[!0-9]*|"") echo "$said" >&2; exit 1;; esac
printf %s "$pid" >"$box/pid"
cat /proc/sys/kernel/random/boot_id >"$box/boot" 2>/dev/null || rm -f "$box/boot"
"""
"""Words: a sandbox's folder, the programs, a generation, the grace, the filter, and bwrap's argv.
Its input is the link's key."""

ATTACH: Final = r"""
exec "$2/link" attach --socket "$1/link.sock"
"""
"""Words: a sandbox's folder, the programs. Its input and output become the link's stream."""
