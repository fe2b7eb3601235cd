#!/bin/sh
# Builds the library that lets runtimes share memory: build.sh OUT. Exit 3 when no compiler here can do it.
set -eu
out=${1:?"usage: build.sh OUT"}
here=$(cd "$(dirname "$0")" && pwd)
flags="-shared -nostdlib -fPIC -O2 -s -std=c11 -Wall -Wextra -Werror -ffreestanding -fno-stack-protector"
[ ! -e "$out" ] || [ -f "$out" ] || { echo "$out is no ordinary file: name another" >&2; exit 2; }
mkdir -p "$(dirname "$out")"
for compiler in gcc cc; do
    command -v "$compiler" >/dev/null 2>&1 || continue
    if $compiler $flags -o "$out.new" "$here"/*.c; then
        chmod 755 "$out.new"
        mv "$out.new" "$out"
        exit 0
    fi
done
rm -f "$out.new"
echo "no C compiler here can make a shared library (install gcc): each idle sandbox will take 4 MiB more" >&2
exit 3
