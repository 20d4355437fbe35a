"""What a type checker sees of the package: run by mypy in test_package.py, never imported."""

from collections.abc import Iterator
from typing import Any

import stoker
from stoker import Image, Label
from stoker import transforms as T
from typing_extensions import assert_type

loader = stoker.Loader(
    ["a.tar"],
    image=Image("jpg", T.RandomResizedCrop(224), T.RandomHorizontalFlip()),
    label=Label("cls"),
    batch_size=4,
    shuffle="shards",
    memory="2GiB",
)
assert_type(len(loader), int)
assert_type(loader.epoch, int)
assert_type(loader.state_dict(), dict[str, int | str])
assert_type(loader.damage, list[stoker.Damage])
assert_type(loader.stats(), stoker.Stats)
for batch in loader:
    assert_type(batch, stoker.Batch)
    assert_type(batch.rows, int)
    assert_type(batch.keys(), tuple[str, ...])
    assert_type(batch.image, Any)
    assert_type(batch["image"], Any)
with loader as same:
    assert_type(same, stoker.Loader)

dataset = stoker.open("a.tar", index="memory")
assert_type(dataset, stoker.Dataset)
assert_type(dataset[0], dict[str, Any])
assert_type(dataset[1:3], stoker.Dataset)
assert_type(iter(dataset), Iterator[dict[str, Any]])
assert_type(dataset.keys()[0], str)
assert_type(dataset.find("a"), int)
assert_type(stoker.image_info(b"").width, int)
error: stoker.Error = stoker.CorruptSample("text")
assert_type(error.offset, int | None)

loader.set_epoch("one")  # type: ignore[arg-type]
stoker.Loader("a.tar", label="cls")  # type: ignore[arg-type]
stoker.decode_image("text")  # type: ignore[arg-type]
