#!/bin/sh
# Builds the static link: build.sh OUT. Exit 3 when no compiler here can do it.
set -eu
out=${1:?"usage: build.sh OUT"}
here=$(cd "$(dirname "$0")" && pwd)
flags="-static -O2 -s -std=c11 -Wall -Wextra -Werror -Wl,--gc-sections -ffunction-sections"
[ ! -e "$out" ] || [ -f "$out" ] || { echo "$out is no ordinary file: name another" >&2; exit 2; }
mkdir -p "$(dirname "$out")"
for compiler in musl-gcc gcc cc; do
    command -v "$compiler" >/dev/null 2>&1 || continue
    if $compiler $flags -o "$out.new" "$here"/*.c -lm; then
        chmod 755 "$out.new"
        mv "$out.new" "$out"
        exit 0
    fi
done
rm -f "$out.new"
echo "no C compiler here can link a static program (install musl-tools or gcc): Atoll will use its Python link" >&2
exit 3
