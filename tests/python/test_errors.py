"""Without these: a status has no class, or an error from a worker process arrives without a place."""

import pickle

import pytest
import stoker
from stoker import _core, errors

FAILURES = {name: number for name, number in _core.STATUSES.items() if number < 0}
BUILT_IN = {
    "STK_EINVAL": ValueError,
    "STK_ENOMEM": MemoryError,
    "STK_ESOURCE": OSError,
    "STK_ECORRUPT": ValueError,
    "STK_ENOTSUP": NotImplementedError,
    "STK_ELIMIT": ValueError,
    "STK_ESHAPE": ValueError,
    "STK_EFIELD": KeyError,
    "STK_ESTATE": ValueError,
    "STK_EINDEX": ValueError,
    "STK_EBUDGET": RuntimeError,
    "STK_EBUSY": RuntimeError,
    "STK_EFORK": RuntimeError,
    "STK_ECLOSED": ValueError,
    "STK_ERANGE": IndexError,
    "STK_EEXIST": FileExistsError,
    "STK_ESTOPPED": RuntimeError,
}
CLASSES = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.Error)
]


@pytest.mark.parametrize(("name", "number"), FAILURES.items())
def test_every_status_raises_a_class_of_the_family_and_the_built_in(name, number):
    with pytest.raises(stoker.Error) as caught:
        _core.raise_status(number)
    assert isinstance(caught.value, BUILT_IN[name])
    assert type(caught.value) is not stoker.Error
    assert caught.value.status == name
    assert str(caught.value).splitlines()[0] == caught.value.text != ""


def test_a_status_of_a_later_library_is_still_of_the_family():
    with pytest.raises(stoker.Error) as caught:
        _core.raise_status(-999)
    assert caught.value.status == "STK_?"


def test_the_table_has_one_class_for_each_status():
    assert {kind.status for kind in CLASSES if kind.status} == set(FAILURES)
    assert set(BUILT_IN) == set(FAILURES)


def details():
    return {
        "line": "JPEG data ended in row 212 of 375 (a.tar, sample n0, byte 8,241,664)",
        "cure": 'To go on without such samples: on_error="skip".',
        "errno": 5,
        "stage": "decode",
        "source": "/data/a.tar",
        "shard": "a.tar",
        "key": "n0",
        "field": "jpg",
        "offset": 8241664,
        "sample": 17,
    }


@pytest.mark.parametrize("kind", CLASSES)
def test_pickling_keeps_class_text_and_place(kind):
    error = kind("JPEG data ended in row 212 of 375", **details())
    twin = pickle.loads(pickle.dumps(error))
    assert type(twin) is kind
    assert str(twin) == str(error)
    assert twin.text == "JPEG data ended in row 212 of 375"
    for name, value in details().items():
        assert getattr(twin, name) == value
    assert twin.args == error.args


def test_text_and_cure_are_two_lines_without_quotes():
    error = errors.MissingField("no sample has png", line="no sample has png", cure="stoker ls -l")
    assert str(error) == "no sample has png\n  stoker ls -l"


@pytest.mark.parametrize(
    ("number", "kind"),
    [(2, FileNotFoundError), (20, FileNotFoundError), (13, PermissionError), (5, OSError)],
)
def test_a_source_error_is_what_open_would_raise(number, kind):
    error = errors.make_error(
        status="STK_ESOURCE", text="t", cure="", errno=number, source="/x", shard=""
    )
    assert isinstance(error, kind)
    assert isinstance(error, stoker.SourceError)
    assert error.errno == number
    assert error.filename == "/x"


def test_a_missing_file_is_a_file_not_found_error(tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        stoker.open(tmp_path / "none.tar")
    assert isinstance(caught.value, stoker.SourceError)
    assert "none.tar" in str(caught.value)


def test_advice_about_samples_is_not_given_for_bytes_of_the_caller():
    with pytest.raises(stoker.CorruptSample) as caught:
        stoker.decode_image(b"\xff\xd8\xff\xe0 cut")
    assert "on_error" not in str(caught.value)
