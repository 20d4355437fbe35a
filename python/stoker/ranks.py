"""Which rank this process is: as the caller says, else torch.distributed, else the launcher."""

from __future__ import annotations

import os
import sys

from . import checks

_LAUNCHERS = (  # rank, number of ranks
    ("RANK", "WORLD_SIZE"),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),  # SLURM_NTASKS is set outside of srun, too
)


def find_rank(rank: int | None, world_size: int | None) -> tuple[int, int]:
    """Rank and number of ranks.

    Parameters
    ----------
    rank, world_size : int or None
        Both, or neither. None: those of ``torch.distributed`` if it is imported and initialised;
        else the environment of torchrun (``RANK``, ``WORLD_SIZE``), Open MPI or Slurm, where both
        variables are set; else 0 of 1.
    """
    if (rank is None) != (world_size is None):
        raise ValueError(
            f"rank is {rank} and world_size is {world_size}; give both of them, or neither"
        )
    if rank is None or world_size is None:
        rank, world_size = _from_torch() or _from_environment() or (0, 1)
    world_size = checks.integer("world_size", world_size, 1, 2**31 - 1)
    rank = checks.integer("rank", rank, 0)
    if rank >= world_size:
        raise ValueError(f"rank is {rank}; it must be below world_size, which is {world_size}")
    return rank, world_size


def _from_torch() -> tuple[int, int] | None:
    torch = sys.modules.get("torch")
    distributed = getattr(torch, "distributed", None)
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return int(distributed.get_rank()), int(distributed.get_world_size())


def _from_environment() -> tuple[int, int] | None:
    for rank_name, size_name in _LAUNCHERS:
        rank, size = os.environ.get(rank_name), os.environ.get(size_name)
        if rank is None or size is None:
            continue
        try:
            return int(rank), int(size)
        except ValueError:
            raise ValueError(
                f"{rank_name} is {rank!r} and {size_name} is {size!r} in the environment; "
                "they must be numbers, or give rank and world_size"
            ) from None
    return None
