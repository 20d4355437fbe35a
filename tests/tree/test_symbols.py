"""Without these: our libjpeg meets Pillow's in one process, or a documented function is not there."""

import re
import subprocess

import pytest
from tree import BUILD, ROOT, built

if not (BUILD / "build.ninja").exists():
    pytest.skip(f"{BUILD} is not built", allow_module_level=True)


def symbols(path, *options):
    """Names of the symbols that a file defines and others can see."""
    text = subprocess.check_output(["nm", "--defined-only", *options, path], text=True)
    return {line.split()[-1] for line in text.splitlines() if len(line.split()) == 3}


def declared():
    """Functions that the public headers declare."""
    names = set()
    for header in (ROOT / "include" / "stoker").glob("*.h"):
        text = re.sub(r"/\*.*?\*/|^#.*?$", "", header.read_text(), flags=re.DOTALL | re.MULTILINE)
        for declaration in re.findall(r"\bSTK_API\b([^;{]*)\(", text):
            names.add(
                re.findall(r"\w+", declaration.split("(")[0].replace("STK_MUST_CHECK", ""))[-1]
            )
    return names


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """The engine as a shared library, with nothing left out."""
    path = tmp_path_factory.mktemp("shared") / "libstoker.so"
    library = built("libstoker.a")
    subprocess.check_call(
        ["gcc", "-shared", "-o", path, "-Wl,--unresolved-symbols=ignore-all"]
        + ["-Wl,--whole-archive", library, "-Wl,--no-whole-archive"]
    )
    return path


def test_every_declared_function_is_there_and_nothing_else(shared):
    assert len(declared()) > 20
    assert symbols(shared, "-D") == declared()


def test_the_static_library_takes_no_other_names():
    names = symbols(built("libstoker.a"), "-g")
    assert [name for name in names if not name.startswith("stk_")] == []


def test_the_extension_exports_its_entry_alone():
    assert symbols(built("_core*.so"), "-D") == {"PyInit__core"}


def test_the_command_exports_nothing():
    names = symbols(built("cli/stoker"), "-D")
    assert [name for name in names if name.startswith("stk_")] == []
