"""What the tests of the command share: running it, and small inputs made by hand."""

import io
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def find_command():
    """STOKER_BIN, else the command of the environment that runs the tests, else of build/."""
    beside = Path(sys.executable).parent / "stoker"
    for path in (os.environ.get("STOKER_BIN"), beside, ROOT / "build" / "cli" / "stoker"):
        if path and os.access(path, os.X_OK):
            return str(path)
    return shutil.which("stoker") or pytest.fail("no stoker command: build it, or set STOKER_BIN")


class Command:
    """The command, run in a folder of the test's own."""

    def __init__(self, folder):
        self.binary = find_command()
        self.folder = folder
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder / "home"),
            "XDG_CACHE_HOME": str(folder / "cache"),
            **{k: v for k, v in os.environ.items() if k.endswith("SAN_OPTIONS")},
        }

    def __call__(self, *args, code=0, text=True, env=None, **options):
        """Run it; the exit status must be `code` (None: any)."""
        done = subprocess.run(
            [self.binary, *map(os.fspath, map(as_path, args))],
            cwd=self.folder,
            env=self.env | (env or {}),
            capture_output=True,
            timeout=120,
            **options,
        )
        if text:
            done.stdout = done.stdout.decode(errors="surrogateescape")
            done.stderr = done.stderr.decode(errors="surrogateescape")
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done

    def json(self, *args, **options):
        """The JSON document that it prints, checked for strictness."""
        done = self(*args, "--json", text=False, **options)
        return json.loads(done.stdout.decode("utf-8", errors="strict"), parse_constant=refuse)

    def start(self, *args, **options):
        return subprocess.Popen(
            [self.binary, *map(os.fspath, map(as_path, args))],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )


def as_path(arg):
    return str(arg) if isinstance(arg, int) else arg


def refuse(constant):
    raise ValueError(f"{constant} is no JSON")


@pytest.fixture
def stoker(tmp_path):
    return Command(tmp_path)


@pytest.fixture(scope="session")
def powerless():
    """Wrap a command line so that file modes hold: root reads everything else."""

    def wrap(command):
        if os.geteuid() != 0:
            return command
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv is missing, and root reads everything")
        return ["setpriv", "--bounding-set=-all", "--inh-caps=-all", *command]

    return wrap


class Tar:
    """Tar archives made by hand, byte by byte."""

    END = b"\0" * 1024

    @staticmethod
    def head(name, size, size_field=None):
        head = bytearray(512)
        for at, data in (
            (0, name),
            (100, b"0000644\0"),
            (108, b"0000000\0"),
            (116, b"0000000\0"),
            (124, size_field if size_field is not None else b"%011o\0" % size),
            (136, b"00000000000\0"),
            (148, b" " * 8),
            (156, b"0"),
            (257, b"ustar\x0000"),
        ):
            head[at : at + len(data)] = data
        head[148:156] = b"%06o\0 " % sum(head)
        return bytes(head)

    @classmethod
    def member(cls, name, data):
        return cls.head(name, len(data)) + data + b"\0" * (-len(data) % 512)

    @classmethod
    def archive(cls, members):
        return b"".join(cls.member(name, data) for name, data in members) + cls.END


@pytest.fixture(scope="session")
def tar():
    return Tar


def picture(width=64, height=48, form="JPEG", **options):
    """A picture with structure in it, encoded."""
    image = pytest.importorskip("PIL.Image").new("RGB", (width, height))
    places = [(x, y) for y in range(height) for x in range(width)]
    image.putdata([(x * 4 % 256, y * 5 % 256, (x + y) % 256) for x, y in places])
    out = io.BytesIO()
    image.save(out, form, **options)
    return out.getvalue()


@pytest.fixture(scope="session")
def jpeg():
    return picture(quality=90)


@pytest.fixture(scope="session")
def png():
    return picture(form="PNG")


@pytest.fixture(scope="session")
def draw():
    return picture


@pytest.fixture(scope="session")
def npy():
    """A .npy of int32 numbers 0 to count - 1, made by hand."""

    def make(count):
        head = b"{'descr': '<i4', 'fortran_order': False, 'shape': (%d,), }" % count
        head += b" " * (-(len(head) + 11) % 64) + b"\n"
        numbers = b"".join(i.to_bytes(4, "little") for i in range(count))
        return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + numbers

    return make


@pytest.fixture
def photos(tmp_path, jpeg):
    """A tree of two classes, with side files and files that belong to no sample."""
    for name in ("cats", "dogs", "cats/old"):
        (tmp_path / "photos" / name).mkdir(parents=True)
    for name in ("cats/a", "cats/b", "cats/old/c", "dogs/a", "dogs/d"):
        (tmp_path / "photos" / f"{name}.jpg").write_bytes(jpeg + name.encode())
    (tmp_path / "photos/cats/a.json").write_text('{"from": "here"}')
    (tmp_path / "photos/cats/.hidden.jpg").write_bytes(jpeg)
    (tmp_path / "photos/README").write_text("no sample")
    return tmp_path / "photos"


@pytest.fixture
def many(tmp_path):
    """Two hundred small samples of one field in a flat folder, and some time to write them."""
    folder = tmp_path / "many"
    folder.mkdir()
    for i in range(200):
        (folder / f"{i:04}.bin").write_bytes(bytes([i]) * (2000 + i))
    return folder
