"""Without these: a run that moves to another number of ranks sees samples twice, and others never."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given  # noqa: E402
from hypothesis import strategies as st  # noqa: E402
from stoker.torch import DataLoader, ElasticSampler  # noqa: E402

pytestmark = pytest.mark.torch

splits = st.sampled_from([(1, 24), (2, 12), (3, 8), (8, 3), (24, 1)])


def global_batches(n, split, epoch=0, **options):
    ranks, batch = split
    samplers = [ElasticSampler(n, batch, ranks, rank, seed=9, **options) for rank in range(ranks)]
    for sampler in samplers:
        sampler.set_epoch(epoch)
    dealt = [list(sampler) for sampler in samplers]
    assert [len(d) for d in dealt] == [sampler.num_samples for sampler in samplers]
    steps = samplers[0].num_samples // batch
    return [[i for d in dealt for i in d[s * batch : (s + 1) * batch]] for s in range(steps)]


@given(
    n=st.integers(24, 300),
    split=splits,
    epoch=st.integers(0, 3),
    drop=st.booleans(),
    shuffle=st.booleans(),
)
def test_global_batches_do_not_depend_on_the_ranks(n, split, epoch, drop, shuffle):
    options = {"drop_last": drop, "shuffle": shuffle}
    alone = global_batches(n, (1, 24), epoch, **options)
    assert global_batches(n, split, epoch, **options) == alone
    flat = [i for step in alone for i in step]
    assert len(set(flat)) == (n // 24 * 24 if drop else n)
    assert len(flat) == (n // 24 if drop else -(-n // 24)) * 24
    if not drop:
        assert flat[n:] == flat[: len(flat) - n]


def test_epochs_differ_and_repeat():
    assert global_batches(100, (1, 24), 0) != global_batches(100, (1, 24), 1)
    assert global_batches(100, (1, 24), 1) == global_batches(100, (1, 24), 1)


@given(split=splits, steps=st.integers(0, 5))
def test_a_run_goes_on_with_another_number_of_ranks(split, steps):
    whole = global_batches(120, (1, 24), 2)
    first = ElasticSampler(120, 12, 2, 0, seed=9)
    first.set_epoch(2)
    state = first.state_dict()
    ranks, batch = split
    rest = []
    for rank in range(ranks):
        sampler = ElasticSampler(120, batch, ranks, rank, seed=9)
        sampler.load_state_dict(state, position=24 * steps)
        sampler.set_epoch(2)
        assert len(sampler) == sampler.num_samples - steps * batch
        rest.append(list(sampler))
        assert len(list(sampler)) == sampler.num_samples  # the next pass is whole
    dealt = [[i for r in rest for i in r[s * batch : (s + 1) * batch]] for s in range(5 - steps)]
    assert dealt == whole[steps:]


def test_a_loader_resumes_with_it():
    def make():
        sampler = ElasticSampler(50, 4, 2, 1, seed=3)
        sampler.set_epoch(1)
        return DataLoader(range(50), 4, sampler=sampler, num_workers=2)

    whole = [b.tolist() for b in make()]
    loader = make()
    iterator = iter(loader)
    next(iterator), next(iterator)
    other = make()
    other.load_state_dict(loader.state_dict())
    assert [b.tolist() for b in other] == whole[2:]


def test_what_does_not_fit_is_refused():
    for arguments in ((0, 4), (10, 0), (10, 4, 2, 2)):
        with pytest.raises(ValueError, match="must"):
            ElasticSampler(*arguments)
    with pytest.raises(ValueError, match="fewer"):
        ElasticSampler(10, 8, 2, 0, drop_last=True)
    state = ElasticSampler(48, 12, 2, 0).state_dict()
    with pytest.raises(ValueError, match="seed"):
        ElasticSampler(48, 12, 2, 0, seed=1).load_state_dict(state)
    with pytest.raises(ValueError, match="global_batch"):
        ElasticSampler(48, 12, 1, 0).load_state_dict(state)
    with pytest.raises(ValueError, match="border"):
        ElasticSampler(48, 12, 2, 0).load_state_dict(state, position=13)
