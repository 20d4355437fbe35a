"""A distributed sampler whose order is the same for any number of ranks."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import Any

import torch
from torch.utils.data import Sampler


class ElasticSampler(Sampler[int]):
    """Indices of one rank, out of one global order that does not depend on how many ranks there are.

    torch's `DistributedSampler` deals indices out one by one, so that another number of ranks sees
    other batches. Here a step of all ranks takes the next ``batch_size * num_replicas`` places of the
    order, and each rank its slice of them: with the same product the global batches are the same for
    1, 2 or 8 ranks, and a run can be resumed on another number.

    Parameters
    ----------
    dataset : sized, or int
        What is sampled from, or how many samples it has.
    batch_size : int
        Samples per step and rank: that of the `DataLoader`.
    num_replicas, rank : int, optional
        Of the process group if there is one, else 1 and 0.
    shuffle : bool
        A permutation for each epoch, from a generator seeded with ``seed + epoch``; else dataset order.
    seed : int
        The same on all ranks.
    drop_last : bool
        True: the last short global batch is left out. False: it is filled from the start of the order,
        so that all ranks have whole batches.

    Attributes
    ----------
    num_samples, total_size : int
        Of this rank, and of all, in an epoch. As with `DistributedSampler`.

    Notes
    -----
    Call `set_epoch` before each epoch. `state_dict` says how much of the epoch the sampler has given
    out; `stoker.torch.DataLoader.state_dict` counts what was used and needs no help.

    Examples
    --------
    >>> one = ElasticSampler(8, batch_size=4, shuffle=False)
    >>> two = [ElasticSampler(8, 2, num_replicas=2, rank=r, shuffle=False) for r in range(2)]
    >>> list(one), [list(sampler) for sampler in two]
    ([0, 1, 2, 3, 4, 5, 6, 7], [[0, 1, 4, 5], [2, 3, 6, 7]])
    """

    def __init__(
        self,
        dataset: Sized | int,
        batch_size: int,
        num_replicas: int | None = None,
        rank: int | None = None,
        shuffle: bool = True,
        seed: int = 0,
        drop_last: bool = False,
    ) -> None:
        self.count = dataset if isinstance(dataset, int) else len(dataset)
        group = torch.distributed.is_available() and torch.distributed.is_initialized()
        if num_replicas is None:
            num_replicas = torch.distributed.get_world_size() if group else 1
        if rank is None:
            rank = torch.distributed.get_rank() if group else 0
        if self.count < 1:
            raise ValueError(f"the dataset has {self.count} samples; it must have 1 or more")
        if batch_size < 1:
            raise ValueError(f"batch_size is {batch_size}; it must be 1 or more")
        if not 0 <= rank < num_replicas:
            raise ValueError(f"rank is {rank}; it must be 0 to {num_replicas - 1}")
        self.batch_size = batch_size
        self.num_replicas = num_replicas
        self.rank = rank
        self.shuffle = shuffle
        self.seed = seed
        self.drop_last = drop_last
        self.epoch = 0
        whole = batch_size * num_replicas
        steps = self.count // whole if drop_last else -(-self.count // whole)
        if steps == 0:
            raise ValueError(f"{self.count} samples are fewer than one global batch of {whole}")
        self.num_samples = steps * batch_size
        self.total_size = steps * whole
        self._skip = 0

    def __len__(self) -> int:
        return self.num_samples - self._skip

    @property
    def restored(self) -> bool:
        """Does the next pass, and it alone, begin at a position that was loaded?"""
        return self._skip > 0

    def set_epoch(self, epoch: int) -> None:
        """The epoch of the next pass; forgets a position that was loaded for another."""
        if epoch != self.epoch:
            self._skip = 0
        self.epoch = epoch

    def _order(self) -> torch.Tensor:
        if not self.shuffle:
            return torch.arange(self.count)
        generator = torch.Generator()
        generator.manual_seed(self.seed + self.epoch)
        return torch.randperm(self.count, generator=generator)

    def __iter__(self) -> Iterator[int]:
        begin, self._skip = self._skip, 0
        places = torch.arange(self.total_size) % self.count
        order = self._order()[places].view(-1, self.num_replicas, self.batch_size)
        yield from order[:, self.rank].reshape(-1)[begin:].tolist()

    def state_dict(self) -> dict[str, Any]:
        """Epoch, position in the global order, and what fixes that order."""
        return {
            "epoch": self.epoch,
            "position": self._skip * self.num_replicas,
            "seed": self.seed,
            "count": self.count,
            "shuffle": self.shuffle,
            "global_batch": self.batch_size * self.num_replicas,
        }

    def load_state_dict(self, state: dict[str, Any], position: int | None = None) -> None:
        """Let the next pass go on from a position of the global order, on any number of ranks.

        Parameters
        ----------
        state : dict
            Of a sampler of the same dataset, seed and global batch.
        position : int, optional
            Samples of all ranks that were used; that of the state by default. A border of a step.

        Raises
        ------
        ValueError
            The state belongs to another order, or the position is no border of a step.
        """
        own = self.state_dict()
        for name in ("seed", "count", "shuffle", "global_batch"):
            if state[name] != own[name]:
                raise ValueError(f"the state has {name} {state[name]}, this sampler {own[name]}")
        at = state["position"] if position is None else position
        if at % own["global_batch"] or not 0 <= at <= self.total_size:
            raise ValueError(
                f"position {at} is no border of a step of {own['global_batch']} samples"
            )
        self.epoch = state["epoch"]
        self._skip = at // self.num_replicas
