"""Train on several ranks: DistributedDataParallel over gloo, DistributedSampler with an epoch.

torchrun --nproc-per-node 2 ddp.py OUTPUT    (writes OUTPUT.RANK.json)
"""

import sys

import torch
import torch.distributed as dist
from record import Record
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader
from torch.utils.data.dataset import Dataset
from torch.utils.data.distributed import DistributedSampler


class Pairs(Dataset):
    """Noisy measurements of a function: another noise each time."""

    def __len__(self):
        return 101

    def __getitem__(self, index):
        x = torch.linspace(-1, 1, 101)[index].repeat(8) * torch.arange(1, 9)
        return {"index": index, "x": x + 0.01 * torch.randn(8), "y": torch.sin(x).sum()}


def main(output):
    dist.init_process_group("gloo")
    rank = dist.get_rank()
    torch.manual_seed(6 + rank)
    dataset = Pairs()
    sampler = DistributedSampler(dataset, shuffle=True, seed=9)
    loader = DataLoader(
        dataset,
        batch_size=8,
        sampler=sampler,
        num_workers=2,
        pin_memory=True,
        persistent_workers=True,
    )
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
    record = Record()
    seen = []
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for batch in loader:
            record.batch(batch)
            seen.append(batch["index"].tolist())
            loss = nn.functional.mse_loss(model(batch["x"]).squeeze(1), batch["y"])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total = loss.detach().clone()
            dist.all_reduce(total)
            record.loss(total / dist.get_world_size())
    record.write(f"{output}.{rank}.json", seen=seen, draws=torch.rand(2).tolist())
    dist.destroy_process_group()


if __name__ == "__main__":
    main(sys.argv[1])
