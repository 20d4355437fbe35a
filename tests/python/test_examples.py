"""Without these: the first program that a newcomer copies does not run, in C, C++ or Python."""

import io
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

Image = pytest.importorskip("PIL.Image")

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("STOKER_BUILD", ROOT / "build"))
EXAMPLES = ROOT / "examples"
SAMPLES, CLASSES = 40, 4


def picture(number):
    """A JPEG of one colour, unlike its neighbours."""
    file = io.BytesIO()
    colour = (number * 6, 255 - number * 6, number * 37 % 256)
    Image.new("RGB", (80 + number, 64), colour).save(file, "JPEG")
    return file.getvalue()


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Two shards of SAMPLES pictures with labels."""
    folder = tmp_path_factory.mktemp("shards")
    for shard in range(2):
        with tarfile.open(folder / f"train-{shard:06d}.tar", "w") as archive:
            for number in range(shard, SAMPLES, 2):
                for name, data in (
                    (f"{number:04d}.jpg", picture(number)),
                    (f"{number:04d}.cls", str(number % CLASSES).encode()),
                ):
                    member = tarfile.TarInfo(name)
                    member.size = len(data)
                    archive.addfile(member, io.BytesIO(data))
    return str(folder / "train-{000000..000001}.tar")


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A folder of class folders."""
    folder = tmp_path_factory.mktemp("tree")
    for number in range(SAMPLES):
        path = folder / f"class-{number % CLASSES}" / f"{number:04d}.jpg"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(picture(number))
    return str(folder)


def run(*command, status=0, **environment):
    """Standard output of a program that ends with `status`."""
    done = subprocess.run(
        [str(word) for word in command],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=120,
    )
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def python(name, *arguments, **options):
    return run(sys.executable, EXAMPLES / name, *arguments, **options)


@pytest.fixture(params=["example_loader", "example_loader_cpp"])
def program(request):
    path = BUILD / "examples" / request.param
    if not path.exists():
        pytest.skip(f"{path.name} is not built in {BUILD.name}/ (meson option tests, or no C++)")
    return path


def test_the_c_example_reads_shards(program, shards):
    lines = run(program, shards).splitlines()
    assert lines[0].startswith("step 0: image uint8 (32, 3, 224, 224), label int64 (32), mean ")
    assert lines[-1] == f"{SAMPLES} samples in 2 steps"


def test_the_c_example_reads_a_folder_tree(program, tree):
    assert run(program, tree).splitlines()[-1] == f"{SAMPLES} samples in 2 steps"


def test_the_c_example_tells_what_is_wrong(program, tmp_path):
    said = run(program, tmp_path / "none.tar", status=1)
    assert said.startswith("loader: ")
    assert "none.tar" in said
    assert run(program, status=2).startswith("usage:")


def test_folder(tree):
    said = python("folder.py", tree)
    assert f"{SAMPLES} samples" in said
    assert f"{CLASSES} classes: class-0, class-1" in said
    assert "image (8, 96, 96, 3) uint8" in said


@pytest.mark.parametrize("name", ["folder.py", "resume.py", "train.py"])
def test_an_example_without_arguments_says_how_it_is_used(name):
    if name == "train.py":
        pytest.importorskip("torch")
    done = subprocess.run(
        [sys.executable, EXAMPLES / name], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"python examples/{name} " in done.stderr
    assert "Traceback" not in done.stderr


def test_resume_goes_on_with_the_next_sample(shards, tmp_path):
    whole = python("resume.py", shards, tmp_path / "whole.json", 14).splitlines()
    assert len(whole) == 14  # past the end of an epoch of ten steps
    parts = []
    for steps, threads in ((3, "1"), (6, "0"), (5, "2")):
        said = python("resume.py", shards, tmp_path / "parts.json", steps, THREADS=threads)
        parts += said.splitlines()
    assert parts == whole


@pytest.mark.torch
def test_train(shards):
    pytest.importorskip("torch")
    said = python("train.py", shards, CLASSES, 2)
    losses = re.findall(r"epoch \d: 2 steps, last loss (\d+\.\d+)", said)
    assert len(losses) == 2
    assert "decode" in said  # the stage table


@pytest.mark.torch
def test_demo_from_photographs_to_a_model(tmp_path):
    """The whole demo, small: own photographs, so that it needs none of the machine."""
    pytest.importorskip("torch")
    photos = tmp_path / "photos"
    photos.mkdir()
    for number in range(4):
        gradient = Image.linear_gradient("L").resize((1200, 900)).rotate(90 * number)
        flat = [Image.new("L", (1200, 900), shade * 60) for shade in (number, 4 - number)]
        Image.merge("RGB", (gradient, *flat)).save(photos / f"photo-{number}.jpg", quality=95)
    demo = [sys.executable, EXAMPLES / "demo.py", "--photos", photos, "--cache", tmp_path / "cache"]
    few = ["--crops", 512, "--held-out", 64, "--epochs", 2, "--rounds", 1]
    said = run(*demo, *few)
    for step in range(1, 6):
        assert f"[{step}/5]" in said
    accuracy = float(re.search(r"Held-out accuracy (\d+\.\d)%", said)[1])
    assert accuracy > 50  # four plain pictures, told apart by colour
    again = run(*demo, *few)
    assert again.count("made by an earlier run") == 2  # crops and shards are kept


def test_demo_says_what_is_missing(tmp_path):
    said = run(sys.executable, EXAMPLES / "demo.py", "--photos", tmp_path, status=1)
    assert "0 pictures" in said
