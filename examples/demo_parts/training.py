"""A small network that tells from which photograph a crop comes, trained from Stoker's loader."""

from __future__ import annotations

import os
import time

import stoker.torch
import torch
from stoker import Image, Label
from stoker import transforms as T
from torch import nn

from . import show
from .packing import Crops

SIZE = 96  # pixels of the network's input
BATCH = 64
RATE = 4e-3
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def open_loader(shards: str, train: bool = True) -> stoker.torch.Loader:
    """Batches of float32 NCHW tensors and int64 labels."""
    if train:
        chain = [T.RandomResizedCrop(SIZE, scale=(0.25, 1.0)), T.RandomHorizontalFlip()]
    else:
        chain = [T.Resize(SIZE * 8 // 7), T.CenterCrop(SIZE)]
    return stoker.torch.Loader(
        shards,
        image=Image("jpg", *chain, T.Normalize(MEAN, STD), dtype="float32"),
        label=Label("cls"),
        batch_size=BATCH,
        shuffle=train,
        seed=7,
        tail="drop" if train else "short",
        device="cpu",
    )


def _block(inputs: int, outputs: int) -> nn.Sequential:
    convolution = nn.Conv2d(inputs, outputs, 3, stride=2, padding=1, bias=False)
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs), nn.ReLU(inplace=True))


def build_network(classes: int) -> nn.Module:
    """Four convolutions, each halving the picture, then the mean over what is left."""
    return nn.Sequential(
        _block(3, 24),
        _block(24, 48),
        _block(48, 96),
        _block(96, 160),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.1),
        nn.Linear(160, classes),
    )


def measure(network: nn.Module, shards: str) -> float:
    """Share of the held-out crops that the network gets right."""
    right = total = 0
    network.eval()
    with open_loader(shards, train=False) as loader, torch.no_grad():
        for images, labels in loader:
            guesses = network(images.contiguous(memory_format=torch.channels_last)).argmax(1)
            right += int((guesses == labels).sum())
            total += len(labels)
    return right / total


def train(crops: Crops, shards: dict[str, str], epochs: int):
    """Train and test. Returns the loader's stats and the held-out accuracy."""
    torch.manual_seed(0)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    network = build_network(len(crops.classes)).to(memory_format=torch.channels_last)
    optimiser = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.02)
    weights = sum(parameter.numel() for parameter in network.parameters())
    show.line(f"    {weights:,} weights, {SIZE}x{SIZE} pixels, {epochs} epochs\n")
    with open_loader(shards["train"]) as loader:
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, RATE, epochs * len(loader))
        for epoch in range(epochs):
            begun, losses = time.perf_counter(), []
            network.train()
            for images, labels in loader:
                outputs = network(images.contiguous(memory_format=torch.channels_last))
                loss = nn.functional.cross_entropy(outputs, labels, label_smoothing=0.05)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
                schedule.step()
                losses.append(loss.item())
            seconds = time.perf_counter() - begun
            accuracy = measure(network, shards["held-out"])
            show.line(
                f"    epoch {epoch + 1:2}  loss {sum(losses) / len(losses):5.3f}  "
                f"held-out {accuracy:6.1%}  {len(losses) * BATCH / seconds:6,.0f} pictures/s  "
                f"{show.bar(accuracy, 30)}"
            )
        stats = loader.stats()
    chance = 1 / len(crops.classes)
    show.line(f"    {'chance':>8}{'':13}held-out {chance:6.1%}{'':22}{show.bar(chance, 30)}")
    return stats, accuracy
