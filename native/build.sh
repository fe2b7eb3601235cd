#!/bin/sh
# Builds a program of this folder: build.sh NAME OUT [ARCHITECTURE]
# NAME is init, link or shared_memory; ARCHITECTURE is as `uname -m` says it, by default this
# machine's. Its own compiler builds for it; the Python package ziglang, of $PYTHON, builds for both
# architectures. Exit 3 when nothing here can do it.
set -eu
name=${1:?"usage: build.sh NAME OUT [ARCHITECTURE]"}
out=${2:?"usage: build.sh NAME OUT [ARCHITECTURE]"}
architecture=${3:-$(uname -m)}
folder=$(cd "$(dirname "$0")" && pwd)/$name
static="-static -pthread -Wl,--gc-sections -ffunction-sections"
case $name in
init) sources="$folder/*.c $folder/tree/*.c $folder/sftp/*.c" kind=$static libc=musl includes="-I$folder -I$folder/tree -I$folder/sftp" libraries="" ;;
link) sources="$folder/*.c" kind=$static libc=musl includes="-I$folder" libraries=-lm ;;
shared_memory) sources="$folder/*.c" kind="-shared -nostdlib -fPIC -ffreestanding -fno-stack-protector" libc=gnu includes="" libraries="" ;;
*) echo "$name is no program of this folder" >&2; exit 2 ;;
esac
[ ! -e "$out" ] || [ -f "$out" ] || { echo "$out is no ordinary file: name another" >&2; exit 2; }
mkdir -p "$(dirname "$out")"

# build COMPILER WORD...
build() {
    # Sources are a pattern, and words have no spaces.
    # shellcheck disable=SC2086
    "$@" -O2 -s -std=c11 $warnings $kind $includes -o "$out.new" $sources $libraries || return 1
    chmod 755 "$out.new"
    mv "$out.new" "$out"
}

warnings="-Wall -Wextra -Werror"
if [ "$architecture" = "$(uname -m)" ]; then
    for compiler in musl-gcc gcc cc; do
        [ "$name $compiler" != "shared_memory musl-gcc" ] || continue
        command -v "$compiler" >/dev/null 2>&1 || continue
        ! build "$compiler" || exit 0
    done
fi
python=${PYTHON:-python3}
if "$python" -c 'import ziglang' 2>/dev/null; then
    # A macro of musl's compares signed with unsigned; gcc does not look into its header.
    warnings="$warnings -Wno-sign-compare"
    if [ -z "${HOME:-}" ]; then
        ZIG_GLOBAL_CACHE_DIR=$(mktemp -d)
        export ZIG_GLOBAL_CACHE_DIR
        trap 'rm -rf "$ZIG_GLOBAL_CACHE_DIR"' EXIT
    fi
    ! build "$python" -m ziglang cc -target "$architecture-linux-$libc" || exit 0
fi
rm -f "$out.new"
echo "nothing here compiles $name for $architecture: install gcc, or the Python package ziglang" >&2
exit 3
