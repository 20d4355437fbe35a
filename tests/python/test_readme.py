"""Without these: what a newcomer copies from README does not run, or links lead nowhere."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def test_every_link_leads_somewhere():
    targets = re.findall(r"\]\(([^)#]+)\)", README)
    assert len(targets) > 5
    assert [t for t in targets if "://" not in t and not (ROOT / t).exists()] == []


@pytest.mark.torch
def test_the_python_lines_run(tmp_path):
    torch = pytest.importorskip("torch")
    picture = pytest.importorskip("PIL.Image")
    for number in range(6):
        path = tmp_path / f"class-{number % 2}" / f"{number}.jpg"
        path.parent.mkdir(exist_ok=True)
        picture.new("RGB", (64, 48), (number * 40, 0, 0)).save(path)
    code, drop_in = blocks("python")
    assert "train-{000000..000127}.tar" in code
    code = code.replace("train-{000000..000127}.tar", str(tmp_path)).replace("90", "2")
    shapes = []
    exec(code, {"train": lambda images, labels: shapes.append((images.shape, len(labels)))})
    assert shapes == [((6, 3, 224, 224), 6)] * 2

    class Ready:
        def __len__(self):
            return 300

        def __getitem__(self, i):
            return torch.full((3, 4, 4), i % 256, dtype=torch.uint8), i

    seen = []
    names = {"dataset": Ready(), "train": lambda images, labels: seen.append(labels)}
    exec(drop_in, names)
    assert [len(labels) for labels in seen] == [256, 44]
    assert torch.cat(seen).sort().values.tolist() == [*range(300)]
    assert names["state"]["finished"]


@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang", "clang++"])
def test_the_c_lines_compile(compiler, tmp_path):
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    (code,) = blocks("c")
    source = tmp_path / ("readme.cpp" if compiler.endswith("+") else "readme.c")
    source.write_text(
        "#include <stoker/stoker.h>\n"
        "void train(const stk_tensor *, const stk_tensor *);\n"
        "int run(stk_loader *loader, stk_error err);\n"
        f"int run(stk_loader *loader, stk_error err) {{ stk_status st;\n{code}\n"
        "return st == STK_END; }\n"
    )
    command = [compiler, "-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{ROOT}/include"]
    done = subprocess.run([*command, str(source)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
