"""Where things are, for the tests of the tree."""

import json
import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("STOKER_BUILD", ROOT / "build"))


def tracked(*patterns):
    """Files that git knows or would take, as paths."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns]
    names = subprocess.check_output(command, cwd=ROOT, text=True).splitlines()
    return sorted({ROOT / name for name in names if (ROOT / name).is_file()})


def compile_only(compiler, source, *options):
    """What a compiler says about a source given as text; empty when it likes it."""
    done = subprocess.run(
        [compiler, "-fsyntax-only", f"-I{ROOT}/include", *options, "-"],
        input=source,
        capture_output=True,
        text=True,
    )
    return done.stderr if done.returncode or done.stderr else ""


def built(pattern):
    """The one file that Meson built whose name fits a pattern."""
    text = subprocess.check_output(["meson", "introspect", "--targets", BUILD], text=True)
    files = [Path(name) for target in json.loads(text) for name in target["filename"]]
    (found,) = [path for path in files if path.match(pattern)]
    return found
