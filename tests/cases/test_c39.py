"""C39: without this, `{008..011}` loses its zeros, or a listed shard that is missing goes unnoticed."""

import pytest
import stoker
from kit import EOA, mem, save


def open_all(tmp_path, pattern, names):
    for number, name in enumerate(names):
        save(tmp_path / name, mem(b"k.cls", b"%d" % number) + EOA)
    return [each["cls"] for each in stoker.open(f"{tmp_path}/{pattern}", index="memory")]


@pytest.mark.parametrize(
    ("pattern", "names"),
    [
        ("s-{008..011}.tar", ["s-008.tar", "s-009.tar", "s-010.tar", "s-011.tar"]),
        ("s-{8..9}-{a,b}.tar", ["s-8-a.tar", "s-8-b.tar", "s-9-a.tar", "s-9-b.tar"]),
        ("{z..x}.tar", ["z.tar", "y.tar", "x.tar"]),
        ("s-{0..0}.tar", ["s-0.tar"]),
    ],
)
def test_braces_expand_in_order(tmp_path, pattern, names):
    assert open_all(tmp_path, pattern, names) == [b"%d" % i for i in range(len(names))]


def test_an_unbalanced_brace_shows_the_pattern():
    with pytest.raises(ValueError, match=r"s-\{0\.\.9") as caught:
        stoker.open("s-{0..9.tar")
    assert isinstance(caught.value, stoker.InvalidArgument)


def test_a_missing_shard_is_named(tmp_path):
    save(tmp_path / "s-0.tar", mem(b"k.cls") + EOA)
    with pytest.raises(FileNotFoundError, match=r"s-1\.tar"):
        stoker.open(tmp_path / "s-{0..1}.tar")
