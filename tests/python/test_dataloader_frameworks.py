"""Without these: frameworks that look inside a loader, or make another from its attributes, break or lose settings."""

from __future__ import annotations

import copy
import inspect
import pathlib
import pickle
import random
import sys
import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from torch.utils.data import DataLoader as Stock  # noqa: E402
from torch.utils.data import DistributedSampler, IterableDataset  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from dataloader_kit import Mixed, Stream, assert_same  # noqa: E402
from stoker.torch import DataLoader  # noqa: E402

pytestmark = pytest.mark.torch


def test_the_signature_is_torchs_and_then_ours():
    theirs = inspect.signature(Stock.__init__).parameters
    ours = inspect.signature(DataLoader.__init__).parameters
    assert [*ours][: len(theirs)] == [*theirs]
    for name, theirs_one in theirs.items():
        assert (ours[name].kind, ours[name].default) == (theirs_one.kind, theirs_one.default), name
    added = [*ours.values()][len(theirs) :]
    assert {p.kind for p in added} == {inspect.Parameter.KEYWORD_ONLY}
    loader = DataLoader(range(3))
    assert {p.name for p in added} <= {*vars(loader)}  # or re-creation would lose them
    public = {name for name in vars(loader) if not name.startswith("_")}
    assert public <= {*ours}  # ignite gives every public attribute to the constructor


def test_it_takes_a_type_as_torchs_does():
    def train(loader: DataLoader[torch.Tensor]) -> None:
        """As in scripts, where the annotation is evaluated."""

    class Integers(DataLoader[int]):
        pass

    kind = eval(train.__annotations__["loader"], globals())
    assert kind.__origin__ is DataLoader
    assert [batch.tolist() for batch in Integers(range(3), 2)] == [[0, 1], [2]]


@pytest.mark.parametrize("num_workers", [0, 2])
def test_a_used_loader_can_be_pickled_and_copied(num_workers):
    loader = DataLoader(Mixed(2000), 500, num_workers=num_workers, arena_bytes=1 << 28)
    batches = list(loader)  # of fields that are large enough for a buffer of the pool
    assert num_workers or loader._pool is not None
    for other in (pickle.loads(pickle.dumps(loader)), copy.copy(loader), copy.deepcopy(loader)):
        assert type(other) is DataLoader
        assert other.arena_bytes == 1 << 28
        assert_same(list(other), batches)


class Short(IterableDataset):
    """Says less than it has."""

    def __len__(self):
        return 3

    def __iter__(self):
        return iter(range(5))

    def __repr__(self):
        return "Short()"


def test_a_copy_goes_on_when_the_original_is_gone():
    for kind in (Stock, DataLoader):
        loader = kind(range(4), 2, num_workers=2, persistent_workers=True)
        list(loader)
        other = copy.copy(loader)
        del loader
        assert [batch.tolist() for batch in other] == [[0, 1], [2, 3]]


@pytest.mark.parametrize("num_workers", [0, 1])
def test_length_warnings_are_torchs_and_name_the_same_line(num_workers):
    def told(loader_class):
        loader = loader_class(Short(), batch_size=None, num_workers=num_workers)
        assert len(loader) == 3
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for _ in loader:
                pass
        return [(w.category, str(w.message), w.filename, w.lineno) for w in caught]

    theirs = told(Stock)
    assert len(theirs) == 2
    assert told(DataLoader) == theirs
    assert theirs[0][2] == __file__


def recreated(loader, **changes):
    """Another loader from attributes and signature, the way Lightning and Accelerate do it."""
    inside = {name: value for name, value in vars(loader).items() if not name.startswith("_")}
    inside["multiprocessing_context"] = loader.multiprocessing_context
    names = dict(inspect.signature(type(loader).__init__).parameters)
    if any(p.kind is p.VAR_KEYWORD for p in names.values()):
        for base in type(loader).__mro__[1:]:
            names.update(inspect.signature(base.__init__).parameters)
    given = {name: inside[name] for name in names if name in inside}
    given.update(batch_sampler=None, sampler=None, shuffle=False)
    given.update(changes)
    return type(loader)(**given)


class Own(DataLoader):
    """As people subclass it."""

    def __init__(self, *args, mine=0, **options):
        super().__init__(*args, **options)
        self.mine = mine


@pytest.mark.parametrize("kind", [DataLoader, Own])
def test_recreation_keeps_every_argument(kind):
    loader = kind(
        Mixed(),
        4,
        shuffle=True,
        num_workers=2,
        drop_last=True,
        timeout=60,
        multiprocessing_context="fork",
        generator=torch.Generator(),
        prefetch_factor=3,
        persistent_workers=True,
        in_order=False,
        arena_bytes=1 << 20,
        snapshot_every_n_steps=5,
    )
    sampler = DistributedSampler(loader.dataset, 2, 1, shuffle=False)
    again = recreated(loader, sampler=sampler)
    assert type(again) is kind
    for name in inspect.signature(DataLoader.__init__).parameters:
        if name not in ("self", "shuffle", "sampler", "batch_sampler"):
            assert getattr(again, name) is getattr(loader, name), name
    indices = torch.cat([batch["number"] for batch in again]).sort().values
    assert indices.tolist() == [*range(1, 33, 2)]


def test_a_stream_is_recreated_without_samplers():
    again = recreated(DataLoader(Stream(), 2, num_workers=1))
    assert len(list(again)) == 3


class Noisy(torch.utils.data.Dataset):
    """Samples with random numbers of all three kinds."""

    def __len__(self):
        return 50

    def __getitem__(self, i):
        return torch.randn(6), torch.tensor([float(i)]), random.random(), np.random.rand()


def noted(batch):
    return [part.tolist() for part in batch]


def lightning_fit(*loaders, resumed=None, **options):
    """The batches of a training; `resumed` is a checkpoint to go on from."""
    pl = pytest.importorskip("pytorch_lightning", reason="Lightning is not installed")

    class Model(pl.LightningModule):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(6, 1)
            self.seen = []

        def training_step(self, batch, nth):
            self.seen.append(noted(batch))
            return ((self.layer(batch[0]) - batch[1]) ** 2).mean()

        def validation_step(self, batch, nth):
            self.seen.append(noted(batch))

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 1e-3)

    off = ["logger", "enable_progress_bar", "enable_checkpointing", "enable_model_summary"]
    trainer = pl.Trainer(max_epochs=2, accelerator="cpu", **dict.fromkeys(off, False), **options)
    model = Model()
    trainer.fit(model, *loaders, ckpt_path=resumed)
    return model.seen


@pytest.mark.parametrize("persistent", [False, True])
def test_lightning_fits_with_the_same_batches(persistent):
    pl = pytest.importorskip("pytorch_lightning", reason="Lightning is not installed")

    def fit(kind):
        pl.seed_everything(3, workers=True, verbose=False)
        train = kind(Noisy(), 8, shuffle=True, num_workers=2, persistent_workers=persistent)
        return lightning_fit(train, kind(Noisy(), 16, num_workers=2))

    assert fit(DataLoader) == fit(Stock)


@pytest.mark.parametrize("num_workers", [0, 2])
def test_lightning_goes_on_within_an_epoch(num_workers, tmp_path):
    pl = pytest.importorskip("pytorch_lightning", reason="Lightning is not installed")

    class Save(pl.Callback):
        def on_train_batch_end(self, trainer, *_):
            if trainer.global_step == 10:  # of 14
                trainer.save_checkpoint(tmp_path / "step-10.ckpt")

    def loader():
        rows = torch.utils.data.TensorDataset(torch.arange(300.0).view(50, 6), torch.ones(50, 1))
        generator = torch.Generator().manual_seed(8)
        return DataLoader(rows, 8, shuffle=True, num_workers=num_workers, generator=generator)

    whole = lightning_fit(loader(), callbacks=[Save()])
    assert len(whole) == 14
    assert lightning_fit(loader(), resumed=tmp_path / "step-10.ckpt") == whole[10:]


def test_lightning_puts_its_sampler_into_a_loader_of_ours():
    pytest.importorskip("lightning_fabric", reason="Lightning is not installed")
    from lightning_fabric.utilities.data import _update_dataloader

    sampler = DistributedSampler(range(37), 2, 0, shuffle=False)
    again = _update_dataloader(DataLoader(Mixed(), 4, arena_bytes=1 << 25), sampler)
    assert type(again) is DataLoader
    assert again.arena_bytes == 1 << 25
    assert len(list(again)) == 5
    again = _update_dataloader(Own(Mixed(), 4, num_workers=2, mine=7), sampler)
    assert type(again) is Own
    assert (again.mine, again.num_workers) == (7, 2)


@pytest.mark.parametrize("substituted", [False, True])
def test_accelerate_prepares_a_loader(substituted, monkeypatch):
    accelerate = pytest.importorskip("accelerate", reason="Accelerate is not installed")
    import accelerate.data_loader as inside

    def batches(kind):
        accelerate.utils.set_seed(5)
        loader = accelerate.Accelerator(cpu=True).prepare(
            kind(Noisy(), 8, shuffle=True, num_workers=2)
        )
        seen = [[noted(batch) for batch in loader] for _ in range(2)]
        seen.append([noted(batch) for batch in accelerate.skip_first_batches(loader, 3)])
        return seen, type(loader.base_dataloader)

    theirs, _ = batches(Stock)
    if substituted:  # what docs/coming-from-dataloader.md says to do
        monkeypatch.setattr(inside, "DataLoader", DataLoader)
    ours, made = batches(DataLoader)
    assert ours == theirs
    assert made is (DataLoader if substituted else Stock)


def test_ignite_exchanges_the_batch_sampler():
    deterministic = pytest.importorskip(
        "ignite.engine.deterministic", reason="ignite is not installed"
    )
    loader = DataLoader(Mixed(), 4, num_workers=2, arena_bytes=1 << 25)
    sampler = deterministic.ReproducibleBatchSampler(loader.batch_sampler)
    again = deterministic.update_dataloader(loader, sampler)
    assert type(again) is DataLoader
    assert again.arena_bytes == 1 << 25
    assert_same(list(again), list(loader))
