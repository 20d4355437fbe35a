"""Train a token model: ragged samples, a collation that pads and makes a mask, workers that are spawned.

tokens.py OUTPUT.json
"""

import random
import sys
from collections import namedtuple
from functools import partial

import torch
from record import Record
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
from torch.utils.data.dataset import Dataset

PAD, MASK, VOCABULARY = 0, 1, 200

Batch = namedtuple("Batch", ["inputs", "labels", "texts"])


class Sentences(Dataset):
    """Lists of token ids of many lengths; some ids are masked at random each time."""

    def __init__(self, count, seed):
        draw = random.Random(seed)
        self.samples = []
        for _ in range(count):
            first = draw.randrange(2, VOCABULARY)
            length = draw.randrange(1, 30)
            self.samples.append([2 + (first + 3 * k) % (VOCABULARY - 2) for k in range(length)])

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        ids = list(self.samples[index])
        masked = [MASK if random.random() < 0.15 else token for token in ids]
        return {"ids": ids, "masked": masked, "text": " ".join(map(str, ids))}


def pad_collate(samples, pad):
    """A named tuple of a dict, a tensor and a list."""
    ids = [torch.tensor(sample["ids"]) for sample in samples]
    masked = [torch.tensor(sample["masked"]) for sample in samples]
    input_ids = pad_sequence(masked, batch_first=True, padding_value=pad)
    inputs = {
        "input_ids": input_ids,
        "attention_mask": (input_ids != pad).long(),
        "lengths": torch.tensor([len(sample) for sample in ids], dtype=torch.int32),
    }
    labels = pad_sequence(ids, batch_first=True, padding_value=-100)
    return Batch(inputs, labels, [sample["text"] for sample in samples])


class Model(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, width, padding_idx=PAD)
        self.mix = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, VOCABULARY)

    def forward(self, input_ids, attention_mask):
        hidden, _ = self.mix(self.embed(input_ids) * attention_mask.unsqueeze(-1))
        return self.head(hidden)


def main(output):
    torch.manual_seed(1)
    random.seed(1)
    loader = DataLoader(
        Sentences(90, seed=4),
        batch_size=8,
        shuffle=True,
        num_workers=2,
        collate_fn=partial(pad_collate, pad=PAD),
        multiprocessing_context="spawn",
        persistent_workers=True,
        prefetch_factor=4,
    )
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    record = Record()
    for _ in range(2):
        for batch in loader:
            record.batch(batch)
            logits = model(batch.inputs["input_ids"], batch.inputs["attention_mask"])
            loss = nn.functional.cross_entropy(logits.flatten(0, 1), batch.labels.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            record.loss(loss)
    record.write(output, steps=len(loader), draws=torch.rand(2).tolist())


if __name__ == "__main__":
    main(sys.argv[1])
