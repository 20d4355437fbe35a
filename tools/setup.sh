#!/bin/sh
# Make a machine ready: system packages, and a virtual environment inside the tree.
#
#   tools/setup.sh system [build] [test] [photographs]   what the system must have
#   tools/setup.sh venv                                   .venv with the pinned packages
#
# Each thing is looked for before anything is installed, by what it does and not by the name of its
# package, so a second run installs nothing and machines of any kind pass that have what is needed.
# Missing packages are installed by apt-get where it is there and may be used (as root, or by sudo);
# otherwise they are named, and the script stops.
#
# PYTHON: which Python to use, 3.10 or later (default: python3).
# TORCH:  which PyTorch (default: requirements-torch.txt; "none": without it).
set -eu
cd "$(dirname "$0")/.."

say() {
    printf '%s\n' "$*" >&2
}

die() {
    say "$@"
    exit 1
}

have() {
    command -v "$1" >/dev/null 2>&1
}

# --- the system ----------------------------------------------------------------------------------

python_is_new_enough() {
    "${PYTHON:-python3}" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null
}

python_has_venv() {
    "${PYTHON:-python3}" -c 'import venv, ensurepip' 2>/dev/null
}

python_has_headers() {
    "${PYTHON:-python3}" -c '
import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' 2>/dev/null
}

clang_has_sanitizers() {
    have clang || return 1
    probe=$(mktemp -d)
    printf 'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n);\n%s\n' \
        'int LLVMFuzzerTestOneInput(const unsigned char *d, unsigned long n) { return d == 0 && n; }' \
        >"$probe/probe.c"
    clang -fsanitize=fuzzer,address,undefined "$probe/probe.c" -o "$probe/probe" 2>/dev/null
    result=$?
    rm -r "$probe"
    return $result
}

# The package that has clang's sanitizers depends on its version and on the release.
sanitizer_package() {
    version=$(clang -dumpversion 2>/dev/null | cut -d. -f1)
    if apt-cache show "libclang-rt-$version-dev" >/dev/null 2>&1; then
        echo "libclang-rt-$version-dev"
    else
        echo "libclang-common-$version-dev"
    fi
}

# Photographs among desktop backgrounds: bench/photos.py knows their names. SHARE is for tests of this
# script.
mate_photographs_are_there() {
    [ -d "${SHARE:-/usr/share}/backgrounds/mate/nature" ]
}

plasma_photographs_are_there() {
    ls -d "${SHARE:-/usr/share}"/wallpapers/*/contents/images >/dev/null 2>&1
}

# More of them, but not in every release: taken only where apt knows them and nobody has to be asked.
lomiri_photographs_are_wanted() {
    ! ls "${SHARE:-/usr/share}"/backgrounds/sunset_by_* >/dev/null 2>&1 &&
        apt-cache show lomiri-wallpapers >/dev/null 2>&1 &&
        { [ "$(id -u)" = 0 ] || sudo -n true 2>/dev/null; }
}

# Write the packages that are missing for the groups given, one a line.
missing_packages() {
    for group in "$@"; do
        case $group in
        build)
            have gcc || echo gcc
            have make || echo make
            have git || echo git
            have pkg-config || echo pkg-config
            have python3 || [ -n "${PYTHON:-}" ] || echo python3
            python_has_venv || echo python3-venv
            python_has_headers || echo python3-dev
            for pair in libjpeg:libjpeg-dev libpng:libpng-dev libwebp:libwebp-dev \
                liburing:liburing-dev cmocka:libcmocka-dev; do
                pkg-config --exists "${pair%%:*}" 2>/dev/null || echo "${pair#*:}"
            done
            ;;
        test)
            have g++ || echo g++
            have clang || echo clang
            have djpeg || echo libjpeg-turbo-progs
            have zstd || echo zstd
            ;;
        sanitizers) # after clang, whose version must be known
            clang_has_sanitizers || sanitizer_package
            ;;
        photographs)
            mate_photographs_are_there || echo mate-backgrounds
            plasma_photographs_are_there || echo plasma-workspace-wallpapers
            ;;
        more-photographs) # after the others, when the lists of packages are fresh
            ! lomiri_photographs_are_wanted || echo lomiri-wallpapers
            ;;
        *)
            die "setup.sh: no group of packages is called $group"
            ;;
        esac
    done
}

# Run as root, if this user can.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        sudo "$@"
    else
        return 1
    fi
}

install_packages() {
    if ! have apt-get; then
        die "These packages are missing (names as in Debian): $*" \
            "Install them with this system's own tool, then run this again."
    fi
    say "Installing system packages: $*"
    if ! as_root apt-get update -q >&2; then
        die "These packages are missing, and this user may not install them: $*" \
            "Let somebody who may run:  apt-get install $*"
    fi
    as_root env DEBIAN_FRONTEND=noninteractive \
        apt-get install -y -q --no-install-recommends "$@" >&2
}

ensure_system() {
    for groups in "$*" "$(case " $* " in *" test "*) echo sanitizers ;; esac)" \
        "$(case " $* " in *" photographs "*) echo more-photographs ;; esac)"; do
        # shellcheck disable=SC2086 # words on purpose, here and below
        missing=$(missing_packages $groups)
        [ -z "$missing" ] && continue
        install_packages $missing
        missing=$(missing_packages $groups)
        [ -z "$missing" ] || die "These packages were installed, but what they bring was not found:" \
            $missing
    done
    python_is_new_enough ||
        die "${PYTHON:-python3} is older than Python 3.10. Name a newer one:  make PYTHON=python3.12"
}

# --- the virtual environment ---------------------------------------------------------------------

# One line that changes when the environment has to be made or filled anew.
wanted_environment() {
    "${PYTHON:-python3}" -c 'import sys; print(sys.version.split()[0], sys.base_prefix)'
    pwd
    echo "torch ${TORCH:-default}"
    cat requirements-dev.txt requirements-torch.txt
}

ensure_venv() {
    wanted=$(wanted_environment | cksum)
    if [ "$(cat .venv/stoker-stamp 2>/dev/null)" = "$wanted" ] && .venv/bin/python -c '' 2>/dev/null; then
        return
    fi
    case ${TORCH:-default} in
    none) torch= ;;
    default) torch='-r requirements-torch.txt' ;;
    *) torch="torch==$TORCH torchvision" ;;
    esac
    say "Making the virtual environment .venv (PyTorch: ${TORCH:-as in requirements-torch.txt})"
    if [ -d .venv ] && ! .venv/bin/python -c "
import sys
sys.exit(sys.prefix != '$(pwd)/.venv')" 2>/dev/null; then
        rm -r .venv # from another place, or of a Python that is gone
    fi
    "${PYTHON:-python3}" -m venv .venv
    # shellcheck disable=SC2086
    .venv/bin/python -m pip install --disable-pip-version-check --quiet \
        -r requirements-dev.txt $torch >&2
    if [ "${TORCH:-}" = none ]; then
        .venv/bin/python -m pip uninstall --quiet --yes torch torchvision >&2 || true # if there at all
    fi
    echo "$wanted" >.venv/stoker-stamp
}

case ${1:-} in
system)
    shift
    ensure_system "$@"
    ;;
venv)
    ensure_venv
    ;;
*)
    die "usage: tools/setup.sh system [build] [test] [photographs] | venv"
    ;;
esac
