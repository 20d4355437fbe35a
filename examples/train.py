"""Train a network on shards, or on a folder of class folders.

Run: python examples/train.py "train-{000000..000007}.tar" CLASSES [EPOCHS]
"""

import sys

import stoker.torch
import torch
from stoker import Image, Label
from stoker import transforms as T
from torch import nn

if len(sys.argv) not in (3, 4):
    sys.exit(__doc__)
where, classes = sys.argv[1], int(sys.argv[2])
epochs = int(sys.argv[3]) if len(sys.argv) > 3 else 1

normalize = T.Normalize((0.485, 0.456, 0.406), (0.229, 0.224, 0.225))
chain = (T.RandomResizedCrop(64), T.RandomHorizontalFlip(), normalize)
loader = stoker.torch.Loader(
    where,
    image=Image("jpg;png", *chain, dtype="float32"),
    label=Label("cls"),
    batch_size=32,
    shuffle=True,
    seed=7,
)
network = nn.Sequential(
    *(nn.Conv2d(3, 32, 5, stride=4), nn.ReLU(), nn.AdaptiveAvgPool2d(4)),
    *(nn.Flatten(), nn.Linear(512, classes)),
)
optimiser = torch.optim.AdamW(network.parameters(), lr=1e-3)

for epoch in range(epochs):
    for images, labels in loader:
        loss = nn.functional.cross_entropy(network(images), labels)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    print(f"epoch {epoch}: {len(loader)} steps, last loss {loss.item():.3f}")
print(loader.stats())
