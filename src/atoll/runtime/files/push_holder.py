"""Pushes that the policy does not let out, held inside for the sandbox's owner.

The broker refused them, so git inside pushes the same commits to the bare repository in which
every other held push lies (`services.library.push_scripts`), whose hook reports them.
"""

import asyncio
import logging

from atoll.domain.errors import AtollError
from atoll.domain.unseen import replace_unseen
from atoll.runtime.files.script import InsideScripts
from atoll.wire.git.receive_pack import NOTHING_HELD, HeldRefs, Update

SECONDS = 60.0

log = logging.getLogger("atoll.runtime")

# $1 last part of the remote's address  $2… COMMIT:REF
# Prints for each `ok REF` or `ng REF REASON`, and `say LINE` for each line of the hook's.
HOLD = r"""
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:$PATH
for name in $(env | sed -n 's/^\(GIT_[A-Z_0-9]*\)=.*/\1/p'); do unset "$name"; done
export LC_ALL=C GIT_TERMINAL_PROMPT=0
leaf=$1
shift
for folder in . */ */*/; do
  held=$folder/.git/atoll/pushed.git
  [ -e "$folder/.git/atoll/to/$leaf.git" ] && [ -d "$held" ] || continue
  git -C "$folder" cat-file -e "${1%%:*}^{commit}" 2> /dev/null || continue
  held=$(cd -P -- "$held" && pwd -P) || continue
  for one; do
    if said=$(git -C "$folder" -c core.hooksPath=/dev/null -c push.gpgSign=false \
      -c push.followTags=false push --porcelain --no-recurse-submodules "$held" "$one" 2>&1); then
      echo "ok ${one#*:}"
      printf '%s\n' "$said" | sed -n 's/ *$//; s/^remote: /say /p'
    else
      why=$(printf '%s\n' "$said" | sed -n 's/^!.*\[\(.*\)\] *(\(.*\))$/\1: \2/p' | head -n 1)
      case $why in
        *'non-fast-forward' | *'fetch first' | *'needs force')
          why='held with other commits already; `git push --force atoll` replaces it' ;;
      esac
      echo "ng ${one#*:} ${why:-it could not be held}"
      printf '%s\n' "$said" | sed -n 's/ *$//; s/^remote: /say /p'
    fi
  done
  exit 0
done
"""


class PushHolder:
    """The pushes of one sandbox. One is held at a time."""

    def __init__(self, scripts: InsideScripts) -> None:
        self._scripts = scripts
        self._lock = asyncio.Lock()

    async def hold(self, path: str, updates: tuple[Update, ...]) -> HeldRefs:
        """Hold the updates of a push to the remote at `path`. Raises nothing: what was not held is
        refused as before."""
        leaf = path.rsplit("/", 1)[-1]
        specs = [f"{update.new}:{update.ref}" for update in updates]
        try:
            async with self._lock, asyncio.timeout(SECONDS):
                printed = await self._scripts.printed(HOLD, leaf, *specs)
        except TimeoutError:
            log.warning("a push was not held within %g s", SECONDS)
        except AtollError as error:
            log.warning("a push could not be held: %s", error.message)
        except OSError as error:
            log.warning("a push could not be held: %s", error.strerror)
        else:
            return _read(printed, frozenset(update.ref for update in updates))
        return NOTHING_HELD


def _read(printed: bytes, asked: frozenset[str]) -> HeldRefs:
    """Read what the script printed; an agent may have written it."""
    refs: set[str] = set()
    reasons: dict[str, str] = {}
    lines: list[str] = []
    for line in printed.decode("utf-8", "replace").splitlines():
        word, _, rest = line.partition(" ")
        ref, _, why = rest.partition(" ")
        if word == "ok" and ref in asked:
            refs.add(ref)
        elif word == "ng" and ref in asked:
            reasons[ref] = replace_unseen(why, 200)
        elif word == "say":
            lines.append(replace_unseen(rest, 200))
    if refs and not lines:
        lines = [
            f"Held for its owner already: {', '.join(sorted(refs))}. It was not sent anywhere."
        ]
    return HeldRefs(frozenset(refs), reasons, tuple(lines))
