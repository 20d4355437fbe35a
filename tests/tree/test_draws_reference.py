"""Without these: docs/draws.md and the C code agree only because one was copied from the other."""

import math

import draws_reference
import pytest
from tree import ROOT

TEXT = (ROOT / "docs" / "draws.md").read_text()
VECTORS = list(draws_reference.vectors(TEXT))


@pytest.mark.parametrize("line", VECTORS, ids=[line.partition(":")[0][:60] for line in VECTORS])
def test_a_second_implementation_gives_the_same(line):
    assert draws_reference.parse(line)[2] == draws_reference.compute(line)


def test_there_are_vectors_of_every_kind():
    kinds = {draws_reference.parse(line)[0] for line in VECTORS}
    assert kinds == {"draw", "log", "exp", "crop", "window", "flip"}


def test_a_wrong_vector_is_found():
    line = next(line for line in VECTORS if line.startswith("flip"))
    wrong = line[:-1] + ("1" if line[-1] != "1" else "0")
    assert draws_reference.check(TEXT.replace(line, wrong)) == [wrong]


@pytest.mark.parametrize("x", [0.01, 0.5, 0.75, 1.0, 4 / 3, 2.0, 1e9, 1e-300])
def test_log_and_exp_are_those_of_mathematics(x):
    assert math.isclose(draws_reference.log(x), math.log(x), rel_tol=2**-52)
    assert math.isclose(draws_reference.exp(math.log(x)), x, rel_tol=2**-43)
