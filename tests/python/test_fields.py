"""Without these: a mistake in a declaration is found at the first batch, or changes data in silence."""

import dataclasses
import pickle

import pytest
import stoker
from stoker import Array, Bytes, Image, Json, Key, Label, Text
from stoker import transforms as T

DECLARATIONS = [
    Image(),
    Image("png", T.RandomResizedCrop(224), T.RandomHorizontalFlip(0.3), layout="NHWC"),
    Image("jpg", T.Resize((20, 30), "bicubic"), T.Normalize([0.5], [0.1]), dtype="bfloat16"),
    Image("jpg", T.Resize(20, max_size=40), T.CenterCrop([8]), orient=True),
    Image("jpg", T.RandomCrop(8, (1, 2), True, (1, 2, 3), "reflect")),
    Label(),
    Label("cls;id", optional=True),
    Bytes("bin"),
    Text(),
    Json("json;js"),
    Array(),
    Key(),
]


@pytest.mark.parametrize("field", DECLARATIONS, ids=repr)
def test_declarations_are_values(field):
    twin = pickle.loads(pickle.dumps(field))
    assert twin == field
    assert hash(twin) == hash(field)
    assert repr(twin) == repr(field)
    for each in dataclasses.fields(field):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(field, each.name, None)


def test_a_change_makes_another_value():
    assert Image("jpg", T.Resize(20)) != Image("jpg", T.Resize(21))
    assert Label("cls") != Label("id")
    assert Bytes("a") != Text("a")


@pytest.mark.parametrize(
    ("make", "kind", "says"),
    [
        (lambda: Image(3), TypeError, "fields is 3"),
        (lambda: Image(""), ValueError, "fields is ''"),
        (lambda: Image("jpg;;png"), ValueError, "jpg;;png"),
        (lambda: Image("jpg", layout="CHW"), ValueError, '"NHWC" or "NCHW"'),
        (lambda: Image("jpg", dtype="float64"), ValueError, "dtype is 'float64'"),
        (lambda: Image("jpg", orient=1), TypeError, "orient is 1"),
        (lambda: Image("jpg", T.Resize), TypeError, "transform 0 is"),
        (lambda: Image("jpg", T.Normalize([0], [1])), ValueError, "must be a float type"),
        (
            lambda: Image("jpg", T.Normalize([0], [1]), T.Resize(3), dtype="float32"),
            ValueError,
            "transform 0 is Normalize",
        ),
        (lambda: Label(None), TypeError, "fields is None"),
        (lambda: Label("cls", optional="no"), TypeError, "optional is 'no'"),
        (lambda: Bytes(" "), ValueError, "fields is ' '"),
    ],
)
def test_mistakes_name_argument_and_value(make, kind, says):
    with pytest.raises(kind) as caught:
        make()
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: T.Resize(0), "size is 0"),
        (lambda: T.Resize((1, 2, 3)), "one or two elements"),
        (lambda: T.Resize((1, 2), max_size=5), "max_size is for"),
        (lambda: T.Resize(10, max_size=10), "must be above size, 10"),
        (lambda: T.Resize(10, interpolation="lanczos"), "interpolation is 'lanczos'"),
        (lambda: T.CenterCrop(70000), "size is 70000"),
        (lambda: T.RandomCrop(8, padding=(1, 2, 3)), "one, two or four elements"),
        (lambda: T.RandomCrop(8, padding=-1), "padding is -1"),
        (lambda: T.RandomCrop(8, fill=256), "fill is 256"),
        (lambda: T.RandomCrop(8, fill=(1, 2)), "one number or three"),
        (lambda: T.RandomCrop(8, padding_mode="wrap"), "padding_mode is 'wrap'"),
        (lambda: T.RandomResizedCrop(8, scale=(1, 0.5)), "scale is (1, 0.5)"),
        (lambda: T.RandomResizedCrop(8, ratio=(0, 1)), "ratio is (0, 1)"),
        (lambda: T.RandomHorizontalFlip(1.5), "p is 1.5"),
        (lambda: T.RandomHorizontalFlip(float("nan")), "p is nan"),
        (lambda: T.Normalize([0, 0], [1]), "3 channels"),
        (lambda: T.Normalize([0], [1, 0, 1]), "must not be 0"),
    ],
)
def test_transforms_check_their_arguments(make, says):
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        make()
    assert says in str(caught.value)


def test_torchvisions_interpolation_modes_are_taken():
    class Mode:
        value = "bicubic"

    assert T.Resize(8, Mode()) == T.Resize(8, "bicubic")


def test_a_field_must_not_hide_an_attribute_of_batches(numbered_shards):
    for name in ("epoch", "keys", "samples", "column"):
        with pytest.raises(ValueError, match=f"cannot be called '{name}'"):
            stoker.Loader(numbered_shards(4), **{name: Label()})
