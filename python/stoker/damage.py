"""The account of lost samples: what a loader skipped or replaced, and why."""

from __future__ import annotations

import json
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from . import _core
from .errors import StateMismatch

if TYPE_CHECKING:
    from .dataset import Dataset

_FORMAT = 1


@dataclass(frozen=True)
class Damage(Mapping[str, Any]):
    """One lost sample. Also a mapping: ``dict(damage)``, ``damage["key"]``.

    Attributes
    ----------
    epoch, step : int
        Where in the run it was met.
    sample : int
        Index of the damaged sample in the dataset.
    substitute : int or None
        Index of the sample that took its row.
    status : str
        Name of the cause, such as ``"STK_ECORRUPT"``.
    source, shard, key, field : str
        File, its short name, the sample's key, the field at fault.
    offset : int or None
        Byte in `source`.
    stage : str
        Where in the life of a batch: ``"read"``, ``"decode"``, ...
    text : str
        What happened, in one line.
    """

    epoch: int
    step: int
    sample: int
    substitute: int | None
    status: str
    source: str
    shard: str
    key: str
    field: str
    offset: int | None
    stage: str
    text: str

    def __getitem__(self, name: str) -> Any:
        if name not in _NAMES:
            raise KeyError(name)
        return getattr(self, name)

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


_NAMES = tuple(each.name for each in fields(Damage))


def save_damage(path: str | os.PathLike[str], dataset: Dataset, damage: list[Damage]) -> None:
    """Write the account as JSON, whole or not at all."""
    whole = {
        "format": _FORMAT,
        "fingerprint": dataset.fingerprint,
        "samples": len(dataset),
        "damage": [dict(each) for each in damage],
    }
    text = json.dumps(whole, ensure_ascii=True, indent=1) + "\n"
    _core.save_file(path, text.encode("ascii"))


def known_samples(
    known: str | os.PathLike[str] | Iterable[Damage | Mapping[str, Any] | int], dataset: Dataset
) -> array[int]:
    """Indices of the samples of an account, checked against the dataset; sorted, each once.

    Raises
    ------
    stoker.StateMismatch
        The account is of another dataset: by its fingerprint, or by the key of a sample.
    """
    entries: Iterable[Any] = known if not isinstance(known, (str, os.PathLike)) else ()
    if isinstance(known, (str, os.PathLike)):
        entries = _read(os.fspath(known), dataset)
    samples = {_checked(entry, dataset) for entry in entries}
    return array("Q", sorted(samples))


def _read(path: str, dataset: Dataset) -> list[dict[str, Any]]:
    with open(path, encoding="utf-8") as file:
        whole = json.load(file)
    if not isinstance(whole, dict) or whole.get("format") != _FORMAT:
        raise ValueError(f"known_damage is {path!r}, which is no account of damage")
    if whole["fingerprint"] != dataset.fingerprint:
        raise StateMismatch(
            f"{path} is the account of dataset {whole['fingerprint']}, "
            f"this dataset is {dataset.fingerprint}"
        )
    return list(whole["damage"])


def _checked(entry: Any, dataset: Dataset) -> int:
    if isinstance(entry, int):
        sample, key = entry, None
    elif isinstance(entry, Mapping):
        sample, key = entry["sample"], entry["key"]
    else:
        raise TypeError(f"known_damage holds {entry!r}; it must hold Damage or int")
    if not 0 <= sample < len(dataset):
        raise ValueError(f"known_damage names sample {sample} of {len(dataset)}")
    if key and dataset.key(sample) != key:
        raise StateMismatch(
            f"known_damage says that sample {sample} has the key {key}, "
            f"in this dataset it is {dataset.key(sample)}"
        )
    return int(sample)
