"""Without these: Stoker works inside its own tree, and a C program elsewhere cannot be built with it."""

import os
import shlex
import subprocess
import sys
import zipfile

import pytest
from tree import BUILD, ROOT, tracked

if not (BUILD / "build.ninja").exists():
    pytest.skip(f"{BUILD} is not built", allow_module_level=True)


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What `meson install` puts into an empty machine; the environment in which pkg-config sees it."""
    machine = tmp_path_factory.mktemp("machine")
    command = ["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet", "--destdir", machine]
    subprocess.check_call(command)
    (pc,) = machine.rglob("stoker.pc")
    environment = {
        **os.environ,
        "PKG_CONFIG_PATH": str(pc.parent),
        "PKG_CONFIG_SYSROOT_DIR": str(machine),
    }
    return machine, environment


def flags(installed, *options):
    text = subprocess.check_output(["pkg-config", *options, "stoker"], env=installed[1], text=True)
    # only our own files lie in the other root, not those of the libraries we lean on
    words = shlex.split(text)
    return [w for w in words if "/usr/" not in w or os.path.exists(w[2:])]


@pytest.mark.parametrize("compiler", ["gcc", "clang", "g++ -x c++"])
def test_a_program_elsewhere_builds_and_runs(installed, tmp_path, compiler):
    program = tmp_path / "program"
    command = [*shlex.split(compiler), ROOT / "examples" / "loader.c", "-o", program]
    subprocess.check_call(
        [*command, *flags(installed, "--cflags"), "-x", "none", *flags(installed, "--libs")]
    )
    done = subprocess.run([program, tmp_path / "missing.tar"], capture_output=True, text=True)
    assert done.returncode == 1
    assert "missing.tar" in done.stderr


def test_the_version_is_that_of_the_project(installed):
    version = subprocess.check_output(["meson", "introspect", "--projectinfo", BUILD], text=True)
    stated = subprocess.check_output(
        ["pkg-config", "--modversion", "stoker"], env=installed[1], text=True
    )
    assert f'"version": "{stated.strip()}"' in version


def test_a_wheel_has_the_package_and_the_command_and_nothing_else(tmp_path):
    subprocess.run(
        [*(sys.executable, "-m", "pip", "wheel", str(ROOT)), "--wheel-dir", tmp_path]
        + ["--no-build-isolation", "--no-deps", "--quiet", "--disable-pip-version-check"],
        check=True,
        capture_output=True,
    )
    (wheel,) = tmp_path.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    package = {path.relative_to(ROOT / "python").as_posix() for path in tracked("python/stoker")}
    expected = {name for name in package if name.endswith((".py", ".pyi", "py.typed"))}
    assert {n for n in names if n.startswith("stoker/") and not n.endswith(".so")} == expected
    assert len([name for name in names if name.endswith(".so")]) == 1
    assert [n.partition(".data/")[2] for n in names if ".data/" in n] == ["scripts/stoker"]
