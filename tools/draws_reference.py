#!/usr/bin/env python3
"""The draws of transforms, a second time: docs/draws.md in plain Python, and nothing else.

Written from the specification and not from the C code, to be read beside it. A test compares it with
the vectors of docs/draws.md, which the C code is compared with, too. Run alone it checks those
vectors, or with --write makes them anew.

    tools/draws_reference.py [--write] [docs/draws.md]
"""

import math
import sys
from pathlib import Path

from order_reference import below, numbers, parse, philox, vectors

# 1. Numbers


class Draws:
    """The draws of one transform for one sample, one after the other."""

    def __init__(self, seed, epoch, sample, number):
        self.key, self.sample, self.number, self.made = (seed, epoch), sample, number, 0

    def word(self):
        self.made += 1
        return philox(self.key, (self.sample, self.number, self.made - 1, 0))[0]

    def unit(self):
        return (self.word() >> 11) * 2.0**-53

    def below(self, bound):
        return below(self.word(), bound)


# 2. Transforms: round() and sqrt() of Python are those of the specification


def flip(draws, p):
    return draws.unit() < p


def random_crop(draws, size, crop, padding, if_needed):
    """(left, top) in the picture without padding; sizes are (width, height)."""
    left, top, right, bottom = padding
    before, after = [left, top], [right, bottom]
    start = [0, 0]
    for axis in (1, 0):  # rows first
        missing = crop[axis] - (before[axis] + size[axis] + after[axis])
        if if_needed and missing > 0:
            before[axis] += missing
            after[axis] += missing
        spare = before[axis] + size[axis] + after[axis] - crop[axis]
        assert spare >= 0
        start[axis] = (draws.below(spare + 1) if spare > 0 else 0) - before[axis]
    return start


def random_resized_crop(draws, width, height, scale, ratio):
    """(left, top, width, height)"""
    low, high = log(ratio[0]), log(ratio[1])
    for _ in range(10):
        target = float(width * height) * (scale[0] + (scale[1] - scale[0]) * draws.unit())
        aspect = exp(low + (high - low) * draws.unit())
        w, h = round(math.sqrt(target * aspect)), round(math.sqrt(target / aspect))
        if 0 < w <= width and 0 < h <= height:
            top = draws.below(height - h + 1)
            left = draws.below(width - w + 1)
            return left, top, w, h
    w, h = width, height
    if width / height < ratio[0]:
        h = min(max(round(width / ratio[0]), 1), height)
    elif width / height > ratio[1]:
        w = min(max(round(height * ratio[1]), 1), width)
    return (width - w) // 2, (height - h) // 2, w, h


# 3. log and exp

LN2A, LN2B = float.fromhex("0x1.62e42fefa0000p-1"), float.fromhex("0x1.cf79abc9e3b3ap-40")


def log(x):
    m, k = math.frexp(x)  # m in [0.5, 1)
    m, k = m * 2, k - 1
    if m >= float.fromhex("0x1.6a09e667f3bcdp+0"):
        m, k = m * 0.5, k + 1
    f = m - 1
    s = f / (2 + f)
    q = s * s
    r = 0.0
    for n in range(23, 1, -2):
        r = r * q + 2 / n
    r = r * q
    return f - s * (f - r) if k == 0 else k * LN2A - ((s * (f - r) - k * LN2B) - f)


def exp(x):
    k = round(x * float.fromhex("0x1.71547652b82fep+0"))
    r = (x - k * LN2A) - k * LN2B
    p = 0.0
    for n in range(14, 1, -1):
        p = p * r + 1 / math.factorial(n)
    return math.ldexp(1 + (r + r * r * p), k)


# 4. Vectors


def real(text):
    return float.fromhex(text) if "x" in text else float(text)


def reals(text):
    return [real(word) for word in text.split(",")]


def compute(line):
    """The part of a vector after the colon, computed."""
    name, fields, _ = parse(line)
    if name == "log":
        return log(real(fields["x"])).hex()
    if name == "exp":
        return exp(real(fields["x"])).hex()

    def draws(sample):
        seed, epoch, number = (int(fields[key], 0) for key in ("seed", "epoch", "number"))
        return Draws(seed, epoch, sample, number)

    if name == "draw":
        of_sample = draws(int(fields["sample"], 0))
        return " ".join(f"0x{of_sample.word():016x}" for _ in range(int(fields["count"])))
    samples = range(int(fields["samples"]))
    if name == "flip":
        return " ".join(str(int(flip(draws(s), real(fields["p"])))) for s in samples)
    size = int(fields["width"]), int(fields["height"])
    if name == "crop":
        law = (*size, reals(fields["scale"]), reals(fields["ratio"]))
        results = [random_resized_crop(draws(s), *law) for s in samples]
    elif name == "window":
        law = (
            *(size, numbers(fields["crop"]), numbers(fields["padding"])),
            int(fields["if_needed"]),
        )
        results = [random_crop(draws(s), *law) for s in samples]
    else:
        raise ValueError(f"no vector is called {name}")
    return " ".join(",".join(map(str, result)) for result in results)


def check(text):
    """The vectors of a document that this implementation does not confirm."""
    return [line for line in vectors(text) if parse(line)[2] != compute(line)]


def main(arguments):
    write = "--write" in arguments
    paths = [word for word in arguments if word != "--write"]
    path = Path(paths[0] if paths else Path(__file__).parent.parent / "docs" / "draws.md")
    text = path.read_text()
    if write:
        for line in vectors(text):
            text = text.replace(line + "\n", f"{line.partition(':')[0]}: {compute(line)}\n")
        path.write_text(text)
    wrong = check(text)
    for line in wrong:
        print(f"{line}\n    computed: {compute(line)}", file=sys.stderr)
    print(f"{len(list(vectors(text)))} vectors, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
