"""Train an image classifier: ImageFolder, random transforms of PIL pictures, a validation set.

images.py OUTPUT.json
"""

import pathlib
import random
import sys
import tempfile

import numpy as np
import torch
import torchvision.transforms as T
from PIL import Image
from record import Record
from torch import nn
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder

CLASSES = ("circles", "squares", "stripes")


def make_pictures(root, count, seed):
    rng = np.random.default_rng(seed)
    for number in range(count):
        kind = number % len(CLASSES)
        size = rng.integers(40, 90, 2)
        y, x = np.mgrid[: size[0], : size[1]]
        pattern = (
            (x - size[1] / 2) ** 2 + (y - size[0] / 2) ** 2 < 300,
            (abs(x - size[1] / 2) < 15) & (abs(y - size[0] / 2) < 15),
            (x // 6) % 2 == 0,
        )[kind]
        pixels = np.where(pattern[..., None], rng.integers(0, 256, 3), rng.integers(0, 256, 3))
        folder = root / CLASSES[kind]
        folder.mkdir(parents=True, exist_ok=True)
        Image.fromarray(pixels.astype(np.uint8)).save(folder / f"{number:04d}.jpg", quality=85)


class AddNoise:
    """A transform of one's own, with the random numbers of NumPy and of Python."""

    def __call__(self, picture):
        if random.random() < 0.5:
            return picture
        noise = np.random.normal(0, 8, (picture.height, picture.width, 3))
        return Image.fromarray(np.clip(np.asarray(picture) + noise, 0, 255).astype(np.uint8))


def seed_worker(worker_id):
    worker_seed = torch.initial_seed() % 2**32
    np.random.seed(worker_seed)
    random.seed(worker_seed)


def run_epoch(model: nn.Module, loader: DataLoader[list[torch.Tensor]], optimizer, record):
    model.train(optimizer is not None)
    for images, labels in loader:
        record.batch([images, labels])
        with torch.set_grad_enabled(optimizer is not None):
            loss = nn.functional.cross_entropy(model(images), labels)
        record.loss(loss)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def main(output):
    torch.manual_seed(0)
    np.random.seed(0)
    random.seed(0)
    normalize = T.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
    augment = T.Compose(
        [
            T.RandomResizedCrop(32, scale=(0.4, 1.0)),
            T.RandomHorizontalFlip(),
            T.ColorJitter(0.3, 0.3, 0.3, 0.05),
            AddNoise(),
            T.ToTensor(),
            normalize,
            T.RandomErasing(0.3),
        ]
    )
    plain = T.Compose([T.Resize(36), T.CenterCrop(32), T.ToTensor(), normalize])

    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        make_pictures(root / "train", 66, seed=1)
        make_pictures(root / "val", 20, seed=2)
        train_loader = DataLoader(
            ImageFolder(root / "train", augment),
            batch_size=8,
            shuffle=True,
            num_workers=2,
            pin_memory=True,
            drop_last=True,
            worker_init_fn=seed_worker,
            generator=torch.Generator().manual_seed(3),
            persistent_workers=True,
        )
        val_loader = DataLoader(
            ImageFolder(root / "val", plain), batch_size=8, num_workers=2, pin_memory=True
        )
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3, stride=2),
            nn.ReLU(),
            nn.Conv2d(8, 16, 3, stride=2),
            nn.ReLU(),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(16, len(CLASSES)),
        )
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
        record = Record()
        for _ in range(2):
            run_epoch(model, train_loader, optimizer, record)
            run_epoch(model, val_loader, None, record)
        record.write(output, steps=len(train_loader), draws=torch.rand(2).tolist())


if __name__ == "__main__":
    main(sys.argv[1])
