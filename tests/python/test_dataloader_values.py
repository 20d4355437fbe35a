"""Without these: a value comes out of a worker with another type, dtype, flag or byte than with torch's loader.

Each value of the table goes through both loaders, as it is and collated, and is told down to its flags.
"""

from __future__ import annotations

import functools
import re
from decimal import Decimal

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from stoker.torch import DataLoader  # noqa: E402
from torch.utils.data import DataLoader as Stock  # noqa: E402
from torch.utils.data import default_collate  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]


class Tagged(torch.Tensor):
    """A subclass without anything of its own."""


class Marked(torch.Tensor):
    """A subclass with an attribute."""

    @staticmethod
    def __new__(cls, tensor):
        made = torch.Tensor._make_subclass(cls, tensor)
        made.note = "of its own"
        return made


def quantized(dtype):
    return torch.quantize_per_tensor(torch.arange(6.0).reshape(2, 3), 0.1, 3, dtype)


def per_channel():
    scales, zeros = torch.tensor([0.1, 0.2]), torch.tensor([1, 2])
    return torch.quantize_per_channel(torch.ones(2, 3), scales, zeros, 0, torch.qint8)


def turned():
    return torch.tensor([1j, 2 + 1j]).conj()


def read_only():
    array = np.arange(3.0)
    array.setflags(write=False)
    return array


def with_grad():
    leaf = torch.ones(3, requires_grad=True)
    leaf.grad = torch.ones(3)
    return leaf


def of_dtype(dtype, count):
    if dtype.itemsize == 1 and not dtype.is_complex:
        return torch.tensor([1, 0, 1, 0][:count], dtype=torch.uint8).view(dtype)
    return torch.zeros(count, dtype=dtype)


# All but those that are shells so far, of which torch makes nothing, and those of quantized tensors.
SHELLS = re.compile(r"torch\.(bits.*|u?int[1-7]|quint.*|qint.*)")
DTYPES = {d for d in vars(torch).values() if isinstance(d, torch.dtype)}
DTYPES = sorted((d for d in DTYPES if not SHELLS.fullmatch(str(d))), key=str)
FIELDS = [("a", "i4"), ("b", "f8")]
jagged = functools.partial(torch.nested.nested_tensor, [torch.ones(2), torch.ones(3)])

# torch's workers lose what these have beside their bytes, or refuse to collate them; ours do neither.
QUANTIZED = {
    "quint8": lambda: quantized(torch.quint8),
    "qint8": lambda: quantized(torch.qint8),
    "qint32": lambda: quantized(torch.qint32),
    "quantized, transposed": lambda: quantized(torch.qint8).t(),
    "quantized, a part": lambda: quantized(torch.qint8)[:, 1:],
    "per channel": per_channel,
}
TURNED = {
    "conjugate": turned,
    "negative": lambda: turned().imag,
    "conjugate, no dimension": lambda: turned()[0],
    "conjugate, empty": lambda: turned()[:0],
}
# torch keeps the gaps; ours arrive contiguous.
GAPS = {
    "expanded": lambda: torch.ones(1).expand(3),
    "every other": lambda: torch.arange(12.0).view(3, 4)[:, ::2],
}
TENSORS = {
    "sparse COO": lambda: torch.eye(3).to_sparse(),
    "COO, not coalesced": lambda: torch.sparse_coo_tensor([[0, 0], [1, 1]], [1.0, 2.0], (2, 2)),
    "COO, empty": lambda: torch.zeros(3, 3).to_sparse(),
    "COO, hybrid": lambda: torch.sparse_coo_tensor([[0, 1]], torch.ones(2, 3), (2, 3)),
    "COO with gradient": lambda: torch.eye(3).to_sparse().requires_grad_(),
    "sparse CSR": lambda: torch.eye(3).to_sparse_csr(),
    "sparse CSC": lambda: torch.eye(3).to_sparse_csc(),
    "sparse BSR": lambda: torch.eye(4).to_sparse_bsr((2, 2)),
    "nested": jagged,
    "nested, jagged": lambda: jagged(layout=torch.jagged),
    "no dimension": lambda: torch.tensor(3),
    "no element": lambda: torch.empty(0, 3),
    "transposed": lambda: torch.arange(12.0).view(3, 4).t(),
    "channels last": lambda: torch.rand(
        2, 3, 4, 5, generator=torch.Generator().manual_seed(1)
    ).contiguous(memory_format=torch.channels_last),
    "with gradient": lambda: torch.ones(3, requires_grad=True),
    "with its gradient": with_grad,
    "parameter": lambda: torch.nn.Parameter(torch.ones(3)),
    "parameter, frozen": lambda: torch.nn.Parameter(torch.ones(3), requires_grad=False),
    "subclass": lambda: torch.ones(3).as_subclass(Tagged),
    "subclass with attribute": lambda: Marked(torch.ones(3)),
    "meta": lambda: torch.ones(2, 3, device="meta"),
    "inference": torch.inference_mode()(lambda: torch.ones(3)),
    "shared": lambda: torch.ones(3).share_memory_(),
    "storage": lambda: torch.ones(3).untyped_storage(),
    "packed": lambda: torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.ones(1)]),
    "size": lambda: torch.Size([2, 3]),
    **{str(d): functools.partial(of_dtype, d, 4) for d in DTYPES},
    **{f"{d}, empty": functools.partial(of_dtype, d, 0) for d in DTYPES},
}
ARRAYS = {
    "structured": lambda: np.array([(1, 2.0)], FIELDS),
    "structured, aligned": lambda: np.zeros(2, np.dtype([("a", "i1"), ("b", "f8")], align=True)),
    "records": lambda: np.rec.array([(1, 2.0)], FIELDS),
    "void": lambda: np.array([b"abc"], "V3"),
    "objects": lambda: np.array([1, "a", None], object),
    "days": lambda: np.array(["2020-01-01", "NaT"], "M8[D]"),
    "spans": lambda: np.array([3], "m8[25s]"),
    "big-endian integers": lambda: np.arange(3, dtype=">i4"),
    "big-endian reals": lambda: np.arange(3, dtype=">f8"),
    "big-endian texts": lambda: np.array(["ab"], ">U2"),
    "read-only": read_only,
    "texts": lambda: np.array(["ab", "c"]),
    "bytes": lambda: np.array([b"ab", b"c"]),
    "array without dimension": lambda: np.array(3.0),
    "elements without bytes": lambda: np.zeros(3, "V0"),
    "array without element": lambda: np.zeros((0, 3), np.int8),
    "Fortran, without element": lambda: np.zeros((0, 3, 2), order="F"),
    "Fortran": lambda: np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "backwards": lambda: np.arange(6)[::-1],
    "repeated": lambda: np.broadcast_to(np.arange(3), (2, 3)),
    "axes exchanged": lambda: np.arange(24).reshape(2, 3, 4).transpose(1, 0, 2),
    "long double": lambda: np.ones(2, np.longdouble),
    "half": lambda: np.ones(2, np.float16),
    "large": lambda: np.array([2**63], np.uint64),
    "complex array": lambda: np.ones(2, np.complex64),
    "matrix": lambda: np.matrix([[1, 2]]),
    "masked": lambda: np.ma.array([1, 2], mask=[0, 1]),
    "with metadata": lambda: np.zeros(2, np.dtype("i4", metadata={"a": 1})),
    "structured scalar": lambda: np.array([(1, 2.0)], FIELDS)[0],
    "real scalar": lambda: np.float32(3),
    "text scalar": lambda: np.str_("x"),
    "day": lambda: np.datetime64("2020-01-01"),
}
OTHERS = {
    "bytearray": lambda: bytearray(b"abc"),
    "complex": lambda: 1j,
    "large integer": lambda: 2**70,
    "decimal": lambda: Decimal("1.5"),
    "set": lambda: {1},
    "none": lambda: None,
}
SAME = {**TENSORS, **ARRAYS, **OTHERS}
VALUES = {**SAME, **QUANTIZED, **TURNED, **GAPS}
NAMES = list(VALUES)


def told(x):
    """All that can be seen of a value."""
    if isinstance(x, torch.Tensor):
        return told_tensor(x)
    if isinstance(x, np.ndarray):
        dtype, flags = x.dtype, x.flags
        metadata = dict(dtype.metadata or {})
        how = (flags.c_contiguous, flags.f_contiguous, flags.writeable, flags.aligned)
        seen = (repr(dtype), metadata, dtype.isalignedstruct, x.shape, x.strides, how)
        return type(x), *seen, repr(x.tolist()), repr(getattr(x, "mask", None))
    if isinstance(x, torch.UntypedStorage):
        return type(x), x.tolist()
    if isinstance(x, dict):
        return type(x), *map(told, x.items())
    if isinstance(x, (list, tuple)):
        return type(x), *map(told, x)
    return type(x), repr(x)


def told_tensor(x):
    seen = [type(x), x.dtype, x.layout, str(x.device), x.requires_grad, x.is_leaf]
    seen += [x.is_inference(), getattr(x, "note", None), x.is_leaf and type(x.grad)]
    if x.is_nested:
        return [*seen, *map(told_tensor, x.unbind())]
    seen.append(tuple(x.shape))
    if x.layout is torch.sparse_coo:
        return [*seen, x.is_coalesced(), told_tensor(x._indices()), told_tensor(x._values())]
    if x.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [*seen, *map(told_tensor, (x.crow_indices(), x.col_indices(), x.values()))]
    if x.layout is torch.sparse_csc:
        return [*seen, *map(told_tensor, (x.ccol_indices(), x.row_indices(), x.values()))]
    seen += [x.stride(), x.is_conj(), x.is_neg(), x.is_quantized]
    if x.is_meta:
        return seen
    if x.is_quantized:
        return [*seen, *told_quantizer(x)]
    if x.is_conj() or x.is_neg() or x.is_complex():
        return [*seen, x.resolve_conj().resolve_neg().tolist()]
    raw = x.detach().contiguous().view(torch.uint8) if x.numel() and x.ndim else None
    return [*seen, x.tolist() if raw is None else raw.tolist()]


def told_quantizer(x):
    scheme = x.qscheme()
    if scheme is torch.per_tensor_affine:
        return scheme, x.q_scale(), x.q_zero_point(), x.int_repr().tolist()
    scales, zeros = x.q_per_channel_scales().tolist(), x.q_per_channel_zero_points().tolist()
    return scheme, scales, zeros, x.q_per_channel_axis(), x.int_repr().tolist()


def of_error(error):
    """The kind of an error and its words, without where it came from."""
    kind = type(error).__name__
    return kind, str(error).strip().splitlines()[-1].removeprefix(f"{kind}: ")


def outcome(make):
    try:
        return told(make())
    except Exception as error:
        return of_error(error)


class Table:
    def __len__(self):
        return len(NAMES)

    def __getitem__(self, i):
        return VALUES[NAMES[i]]()


def as_it_is(samples):
    return samples[0], {"again": samples[1]}


@functools.cache
def outcomes(kind, collate, **options):
    """What comes of each value, by its name."""
    twice = [[i, i] for i in range(len(NAMES))]
    iterator = iter(
        kind(Table(), batch_sampler=twice, num_workers=2, collate_fn=collate, **options)
    )
    return dict(zip(NAMES, (outcome(lambda: next(iterator)) for _ in NAMES), strict=True))


WAYS = [{}, {"arena_bytes": 0}]  # in the arena, and without room in it


def pair(value):
    return told((value, {"again": value}))


@pytest.mark.parametrize("options", WAYS, ids=["arena", "by value"])
@pytest.mark.parametrize("name", SAME)
def test_a_value_is_what_torchs_workers_give(name, options):
    ours = outcomes(DataLoader, as_it_is, **options)[name]
    assert ours == outcomes(Stock, as_it_is)[name]


@pytest.mark.parametrize("options", WAYS, ids=["arena", "by value"])
@pytest.mark.parametrize("name", [name for name in VALUES if name not in {**QUANTIZED, **TURNED}])
def test_a_collated_value_is_what_torchs_workers_give(name, options):
    ours = outcomes(DataLoader, None, **options)[name]
    assert ours == outcomes(Stock, None)[name]


@pytest.mark.parametrize("options", WAYS, ids=["arena", "by value"])
@pytest.mark.parametrize("name", [*QUANTIZED, *TURNED])
def test_a_value_that_torchs_workers_lose_or_refuse_is_whole(name, options):
    value = VALUES[name]()
    whole = value if name in QUANTIZED else value.resolve_conj().resolve_neg()
    assert outcomes(DataLoader, as_it_is, **options)[name] == pair(whole)
    ours = outcomes(DataLoader, None, **options)[name]
    assert ours == outcome(lambda: default_collate([value, value]))


@pytest.mark.parametrize("options", WAYS, ids=["arena", "by value"])
@pytest.mark.parametrize("name", GAPS)
def test_a_tensor_with_gaps_comes_without_them(name, options):
    assert outcomes(DataLoader, as_it_is, **options)[name] == pair(VALUES[name]().contiguous())


@pytest.mark.parametrize(
    "dtypes", [("int64", "float32"), ("float32", "int64"), ("float32", "float64")]
)
@pytest.mark.parametrize("workers", [0, 1])
def test_samples_of_different_element_types_become_what_torch_makes_of_them(dtypes, workers):
    data = [torch.ones(3, dtype=getattr(torch, dtype)) for dtype in dtypes]
    ours, theirs = (
        outcome(lambda kind=kind: next(iter(kind(data, 2, num_workers=workers))))
        for kind in (DataLoader, Stock)
    )
    assert ours == theirs


NOT_TO_BE_SENT = {
    "with a history": lambda: torch.ones(3, requires_grad=True) * 2,
    "of MKL-DNN": lambda: torch.ones(3).to_mkldnn(),
    "memory": lambda: memoryview(b"abc"),
}


@pytest.mark.parametrize("name", NOT_TO_BE_SENT)
def test_a_value_that_cannot_be_sent_is_an_error_not_a_wait(name):
    make = NOT_TO_BE_SENT[name]
    iterator = iter(DataLoader([1, 2], None, num_workers=1, collate_fn=lambda _: make()))
    for _ in range(2):
        with pytest.raises((RuntimeError, TypeError, NotImplementedError)):
            next(iterator)
    with pytest.raises(StopIteration):
        next(iterator)


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize(
    ("shape", "order"),
    [((4, 3, 80, 80), torch.channels_last), ((2, 3, 20, 20, 20), torch.channels_last_3d)],
)
def test_large_samples_keep_the_order_of_their_axes_where_torch_does(num_workers, shape, order):
    samples = [torch.rand(shape).to(memory_format=order) for _ in range(2)]
    ours, theirs = (next(iter(c(samples, 2, num_workers=num_workers))) for c in (DataLoader, Stock))
    assert ours.stride() == theirs.stride()
    assert torch.equal(ours, theirs)
