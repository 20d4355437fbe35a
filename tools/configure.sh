#!/bin/sh
# Configure a build folder, once: anew only when its options, its compiler or the list of meson.build
# files changed since (a folder that a build file looks for is not watched by ninja).
#
#   [CC=clang] tools/configure.sh build-clang -Dwerror=true ...
set -eu
cd "$(dirname "$0")/.."
folder=$1
shift
wanted=$(
    echo "${CC:-}" "$@"
    meson --version
    find . -name 'meson.build' -not -path './build*' -not -path './.venv/*' -not -path './stage*' | sort
)
if [ "$(cat "$folder/stoker-stamp" 2>/dev/null)" = "$wanted" ] && [ -f "$folder/build.ninja" ]; then
    exit 0
fi
if [ -f "$folder/build.ninja" ] && [ "$(head -n 2 "$folder/stoker-stamp" 2>/dev/null)" = "$(
    echo "$wanted" | head -n 2)" ]; then
    meson setup --reconfigure "$folder" >"$folder/stoker-configure.log" || {
        cat "$folder/stoker-configure.log" >&2
        exit 1
    }
else
    rm -rf "$folder"
    mkdir "$folder"
    meson setup "$folder" "$@" >"$folder/stoker-configure.log" || {
        cat "$folder/stoker-configure.log" >&2
        exit 1
    }
fi
echo "$wanted" >"$folder/stoker-stamp"
