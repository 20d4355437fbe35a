"""Without these: `import stoker` drags in torch, a name is missing from it, an example in the docs is
wrong, or a type checker is told something else than what happens."""

import doctest
import importlib
import importlib.util
import pkgutil
import site
import subprocess
import sys
from pathlib import Path

import pytest
import stoker
from kit import jpg, pic

HERE = Path(__file__).parent


def run(script):
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=True
    ).stdout


def test_importing_is_light():
    loaded = run(
        "import sys; before = set(sys.modules); import stoker\n"
        "print(*sorted(set(sys.modules) - before))"
    ).split()
    assert set(loaded) <= {"stoker", "__future__"}


def test_declaring_needs_neither_numpy_nor_torch():
    loaded = run(
        "import sys, stoker\n"
        "from stoker import Image, Label, transforms as T\n"
        "Image('jpg', T.RandomResizedCrop(224)); stoker.Loader; stoker.open; stoker.Error\n"
        "print(*sys.modules)"
    ).split()
    assert "numpy" not in loaded
    assert "torch" not in loaded


def test_starting_makes_no_thread():
    threads = run("import os, stoker; stoker.Loader; print(len(os.listdir('/proc/self/task')))")
    assert threads.strip() == "1"


def test_every_public_name_is_there():
    for name in stoker.__all__:
        assert getattr(stoker, name) is not None
        assert name in dir(stoker)
    with pytest.raises(AttributeError, match="Loadr"):
        stoker.Loadr  # noqa: B018
    assert stoker.__version__.count(".") == 2


def test_a_star_import_leaves_the_built_in_open_alone():
    code = "from stoker import *; import builtins; print(open is builtins.open, Loader.__name__)"
    assert run(code).split() == ["True", "Loader"]
    assert stoker.open.__module__ == "stoker.dataset"  # which is public all the same
    assert "open" in dir(stoker)


def test_every_public_thing_is_documented():
    for name in stoker.__all__:
        thing = getattr(stoker, name)
        if not isinstance(thing, str):
            assert (thing.__doc__ or "").strip(), name


def modules():
    path = stoker.__path__
    return sorted(
        each.name
        for each in pkgutil.walk_packages(path, "stoker.")
        if not each.name.startswith("stoker.torch") and each.name != "stoker._core"
    )


def examples(name, shards):
    import numpy as np

    module = importlib.import_module(name)
    globs = {"stoker": stoker, "np": np, "shards": shards, "photo": jpg(pic())}
    finder, runner = (
        doctest.DocTestFinder(),
        doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE),
    )
    for test in finder.find(module, globs=globs):
        runner.run(test)
    return runner.summarize(verbose=False)


@pytest.fixture
def example_shards(tmp_path):
    from kit import EOA, mem, numbered_picture, save

    members = b"".join(
        mem(b"%d.jpg" % i, jpg(numbered_picture(i))) + mem(b"%d.cls" % i, b"%d" % i)
        for i in range(8)
    )
    return save(tmp_path / "a.tar", members + EOA)


@pytest.mark.parametrize("name", ["stoker", *modules()])
def test_examples_of_docstrings_are_true(name, example_shards):
    assert examples(name, example_shards).failed == 0


def test_there_are_examples(example_shards):
    assert sum(examples(name, example_shards).attempted for name in ["stoker", *modules()]) >= 15


@pytest.mark.torch
def test_examples_of_the_torch_face_are_true(example_shards):
    pytest.importorskip("torch")
    result = examples("stoker.torch.loader", example_shards)
    assert result.attempted >= 2
    assert result.failed == 0


def test_what_type_checkers_see(tmp_path):
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    package = Path(stoker.__file__).parent
    assert (package / "py.typed").exists()
    # where this Python installs to it is found without help, and refused with it
    installed = str(package.parent) in site.getsitepackages()
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            f"--cache-dir={tmp_path}",
            str(HERE / "typing_examples.py"),
        ],
        capture_output=True,
        text=True,
        timeout=300,
        env={"PATH": "/usr/bin:/bin"} | ({} if installed else {"MYPYPATH": str(package.parent)}),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stub_says_what_the_extension_has():
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy is not installed")
    done = subprocess.run(
        [sys.executable, "-m", "mypy.stubtest", "--concise", "stoker._core"],
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
