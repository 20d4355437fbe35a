"""Without these: a layer begins to lean on one below it, and can never be read or tested alone again."""

import check_layers
import pytest
from tree import ROOT

TABLE = "# layer : uses\nbase :\nos : base\ncodec : base os\nloader : base os codec\n"


def test_the_tree_keeps_its_layers():
    assert list(check_layers.check(ROOT)) == []


@pytest.fixture
def small_tree(tmp_path):
    """A tree without a fault; add(path, text) puts one in."""

    def add(name, text=""):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    add("src/LAYERS", TABLE)
    add("src/base/size.h", "#include <stdint.h>\n")
    add("src/os/file.h", '#include <fcntl.h>\n#include "base/size.h"\n')
    add(
        "src/codec/jpeg.c", '#include <jpeglib.h>\n#include <stoker/base.h>\n#include "os/file.h"\n'
    )
    add("src/loader/loader.c", '#include <stoker/loader.h>\n#include "codec/jpeg.h"\n')
    add("src/codec/jpeg.h")
    add("include/stoker/base.h", "#include <stdint.h>\n")
    add("include/stoker/loader.h", "#include <stoker/base.h>\n")
    add("cli/main.c", '#include <stoker/loader.h>\n#include "out.h"\n')
    add("cli/out.h")
    add.root = tmp_path
    return add


def test_a_tree_without_fault_passes(small_tree):
    assert list(check_layers.check(small_tree.root)) == []


FAULTS = {
    "up": ("src/base/up.c", '#include "os/file.h"', "base may not use os"),
    "up_public": ("src/base/up.c", "#include <stoker/loader.h>", "base may not use loader"),
    "sideways": ("src/os/x.c", '#include "codec/jpeg.h"', "os may not use codec"),
    "missing": ("src/os/x.c", '#include "base/none.h"', "not in src/"),
    "library_twice": ("src/loader/x.c", "#include <jpeglib.h>", "one .c file talks to a library"),
    "library_in_header": ("src/os/x.h", "#include <zlib.h>", "stays out of headers"),
    "system": ("src/codec/x.c", "#include <unistd.h>", "headers of the system"),
    "indented": ("src/codec/x.c", "#  include <sys/mman.h>", "headers of the system"),
    "internal": ("cli/x.c", '#include "base/size.h"', "only <stoker/...>"),
    "public_library": ("include/stoker/os.h", "#include <png.h>", "a public header needs"),
    "public_up": ("include/stoker/os.h", "#include <stoker/loader.h>", "os may not use loader"),
    "new_folder": ("src/extra/x.c", "", "no layer"),
    "new_header": ("include/stoker/extra.h", "", "no layer"),
    "table": ("src/LAYERS", TABLE.replace("os : base", "os : base codec"), "does not stand above"),
}


@pytest.mark.parametrize(("path", "text", "message"), FAULTS.values(), ids=FAULTS)
def test_each_fault_is_found(small_tree, path, text, message):
    small_tree(path, text + "\n")
    found = list(check_layers.check(small_tree.root))
    assert len(found) == 1
    assert message in found[0]


def test_every_source_is_built():
    """A file that no meson.build lists is dead, and nobody notices."""
    for folder in check_layers.read_layers(ROOT):
        layer = ROOT / "src" / folder
        listed = "".join(path.read_text() for path in layer.rglob("meson.build"))
        for path in layer.rglob("*.c"):
            assert f"'{path.relative_to(layer)}'" in listed or f"'{path.name}'" in listed, path
