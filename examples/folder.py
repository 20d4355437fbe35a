"""Look at a folder tree as a dataset: classes, samples, one picture, a batch.

Run: python examples/folder.py FOLDER
"""

import sys

import stoker
from stoker import Image, Key, Label
from stoker import transforms as T

if len(sys.argv) != 2:
    sys.exit(__doc__)
dataset = stoker.open(sys.argv[1])
print(f"{len(dataset)} samples with fields {', '.join(dataset.fields)}")
print(f"{len(dataset.classes)} classes: {', '.join(dataset.classes[:5])} ...")

sample = dataset[0]
picture = next(name for name in ("jpg", "jpeg", "png", "webp") if name in sample)
pixels = stoker.decode_image(sample[picture])
print(f"sample 0 is {sample['__key__']}: {pixels.shape[1]} x {pixels.shape[0]} pixels")

with stoker.Loader(
    dataset,
    image=Image("jpg;jpeg;png;webp", T.Resize(96), T.CenterCrop(96), layout="NHWC"),
    label=Label("cls"),
    key=Key(),
    batch_size=8,
) as loader:
    batch = next(iter(loader))
    print(f"a batch: image {batch.image.shape} {batch.image.dtype}, label {batch.label.tolist()}")
    for name, label in zip(batch.key, batch.label, strict=True):
        print(f"  {name}: {dataset.classes[label]}")
