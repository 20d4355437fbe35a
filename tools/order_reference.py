#!/usr/bin/env python3
"""The order of Stoker, a second time: docs/order.md in plain Python, and nothing else.

Written from the specification and not from the C code, to be read beside it. It is slow and has no
dependencies. A test compares it with the vectors of docs/order.md, which the C code is compared
with, too. Run alone it checks those vectors, or with --write makes them anew.

    tools/order_reference.py [--write] [docs/order.md]
"""

import math
import struct
import sys
from pathlib import Path

MASK = 2**64 - 1
SUBSTITUTE, PERMUTE, WEIGHTED = 2**63, 2**63 + 1, 2**63 + 2


# 2. Random words


def philox(key, counter):
    """Philox4x64-10: four words from a key of two words and a counter of four."""
    k0, k1 = key
    c0, c1, c2, c3 = counter
    for _ in range(10):
        product0, product1 = 0xD2E7470EE14C6C93 * c0, 0xCA5A826395121157 * c2
        c0, c1, c2, c3 = (
            (product1 >> 64) ^ c1 ^ k0,
            product1 & MASK,
            (product0 >> 64) ^ c3 ^ k1,
            product0 & MASK,
        )
        k0 = (k0 + 0x9E3779B97F4A7C15) & MASK
        k1 = (k1 + 0xBB67AE8584CAA73B) & MASK
    return c0, c1, c2, c3


def below(word, bound):
    """A number in [0, bound) from a random word."""
    return word * bound >> 64


# 3. Permutation


class Permutation:
    """A keyed permutation of [0, n): call it with a position."""

    def __init__(self, n, seed, epoch, stream):
        self.n = n
        words = self._words(seed, epoch, stream)
        if n <= 256:
            self.table = list(range(n))
            for i in range(n - 1, 0, -1):
                j = below(next(words), i + 1)
                self.table[i], self.table[j] = self.table[j], self.table[i]
        else:
            self.rows = math.isqrt(n - 1) + 1
            self.columns = -(-n // self.rows)
            self.keys = [next(words) for _ in range(8)]

    @staticmethod
    def _words(seed, epoch, stream):
        block = 0
        while True:
            yield from philox((seed, epoch), (stream, PERMUTE, block, 0))
            block += 1

    @staticmethod
    def _term(half, key, bound):
        x = (half ^ key) * 0xFF51AFD7ED558CCD & MASK
        x = (x ^ x >> 32) * 0xC4CEB9FE1A85EC53 & MASK
        return below(x, bound)

    def _network(self, point):
        row, column = divmod(point, self.columns)
        for i in range(0, 8, 2):
            row = (row + self._term(column, self.keys[i], self.rows)) % self.rows
            column = (column + self._term(row, self.keys[i + 1], self.columns)) % self.columns
        return row * self.columns + column

    def __call__(self, position):
        if self.n <= 256:
            return self.table[position]
        point = self._network(position)
        while point >= self.n:
            point = self._network(point)
        return point


# 4. Orders


def full_order(count, seed, epoch):
    """shuffle = full: a function from position to sample."""
    return Permutation(count, seed, epoch, stream=0)


def shards_order(starts, window, seed, epoch):
    """shuffle = shards. starts: the first sample of each shard, and the count at the end."""
    shard_count = len(starts) - 1
    shard_at = Permutation(shard_count, seed, epoch, stream=1)
    order = []
    for number, first in enumerate(range(0, shard_count, window)):
        shards = [shard_at(i) for i in range(first, min(first + window, shard_count))]
        samples = [i for s in shards for i in range(starts[s], starts[s + 1])]
        if samples:
            inside = Permutation(len(samples), seed, epoch, stream=2 + number)
            order += [samples[inside(i)] for i in range(len(samples))]
    return order.__getitem__


def alias_table(weights):
    """Thresholds and others of the columns of an alias table (Vose), in whole numbers."""
    count = len(weights)
    _, exponent = math.frexp(max(weights))
    whole = [math.floor(math.ldexp(w, 52 - exponent)) for w in weights]
    mean = sum(whole)
    amounts = [w * count for w in whole]
    thresholds, others = [MASK] * count, list(range(count))

    small = [i for i in range(count) if amounts[i] < mean]
    large = [i for i in range(count) if amounts[i] >= mean]
    while small and large:
        s, l = small.pop(), large.pop()
        thresholds[s], others[s] = threshold(amounts[s], mean), l
        amounts[l] -= mean - amounts[s]
        (small if amounts[l] < mean else large).append(l)
    assert not small  # the amounts are exact: what is left is exactly full
    return thresholds, others


def threshold(amount, mean):
    """amount / mean in units of 2^-64, after cutting both until the mean has 63 bits at most."""
    cut = max(0, mean.bit_length() - 63)
    amount, mean = amount >> cut, mean >> cut
    return (amount << 64) // mean if amount < mean else MASK


def weighted_order(weights, seed, epoch):
    """shuffle = weighted: draws with replacement."""
    thresholds, others = alias_table(weights)

    def at(position):
        word0, word1, _, _ = philox((seed, epoch), (position, WEIGHTED, 0, 0))
        column = below(word0, len(weights))
        return column if word1 < thresholds[column] else others[column]

    return at


def mix64(x):
    x = (x ^ x >> 33) * 0xFF51AFD7ED558CCD & MASK
    x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53 & MASK
    return x ^ x >> 33


def weights_hash(weights):
    """What a state keeps of the weights."""
    value = len(weights)
    for weight in weights:
        (bits,) = struct.unpack("<Q", struct.pack("<d", weight + 0.0))  # -0.0 becomes 0.0
        value = mix64((value + 0x9E3779B97F4A7C15 & MASK) ^ bits)
    return value or 1


# 5. Ranks and tails


def rank_steps(count, batch, world, rank, tail):
    """The positions of one rank: a list of them for each step."""
    whole = batch * world
    full, rest = divmod(count, whole)
    steps = [range(k * whole + rank * batch, k * whole + (rank + 1) * batch) for k in range(full)]
    if rest and tail == "short":
        each, more = divmod(rest, world)
        first = full * whole + rank * each + min(rank, more)
        steps.append(range(first, first + each + (rank < more)))
    elif rest and tail == "wrap":
        first = full * whole + rank * batch
        steps.append(range(first, first + batch))
    return [[position % count for position in step] for step in steps]


# 6. Damage


def substitute(count, seed, epoch, sample, attempt):
    """on_error = replace: the sample that takes the row of a damaged one; attempt is 0 to 15."""
    return below(philox((seed, epoch), (sample, SUBSTITUTE, attempt, 0))[0], count)


def replace(samples, damaged, count, seed, epoch):
    """The samples of a rank's epoch under on_error = replace; None: no substitute was found."""

    def whole(sample):
        if sample not in damaged:
            return sample
        tries = (substitute(count, seed, epoch, sample, attempt) for attempt in range(16))
        return next((s for s in tries if s not in damaged), None)

    return [whole(sample) for sample in samples]


def skip(samples, damaged, batch):
    """The steps of a rank's epoch under on_error = skip; samples: those of the rank, in order."""
    rows, end = [], len(samples)
    for row in range(len(samples)):
        if row >= end:
            break
        sample = samples[row]
        while sample in damaged:
            end -= 1  # one damage, one sample less at the end
            if end <= row:
                break  # nothing is left to fill the row with
            sample = samples[end]
        else:
            rows.append(sample)
    return [rows[first : first + batch] for first in range(0, len(samples), batch)]


# 8. Vectors


def parse(line):
    """'permute n=10 seed=1: 3 1 2' -> ('permute', {'n': '10', 'seed': '1'}, '3 1 2')"""
    head, _, result = line.partition(":")
    name, *fields = head.split()
    return name, dict(field.split("=") for field in fields), result.strip()


def numbers(text):
    return [int(word, 0) for word in text.split(",")] if text else []


def compute(line):
    """The part of a vector after the colon, computed."""
    name, fields, _ = parse(line)
    number = {
        key: int(text, 0) for key, text in fields.items() if text.isalnum() and text[0].isdigit()
    }
    if name == "philox":
        result = philox(numbers(fields["key"]), numbers(fields["counter"]))
        return " ".join(f"0x{word:016x}" for word in result)
    if name == "permute":
        at = Permutation(number["n"], number["seed"], number["epoch"], number["stream"])
    elif name == "shards":
        at = shards_order(
            numbers(fields["starts"]), number["window"], number["seed"], number["epoch"]
        )
    elif name == "weighted":
        weights = [float(word) for word in fields["weights"].split(",")]
        at = weighted_order(weights, number["seed"], number["epoch"])
    elif name == "weights_hash":
        return hex(weights_hash([float(word) for word in fields["weights"].split(",")]))
    elif name == "ranks":
        steps = rank_steps(
            number["count"], number["batch"], number["world"], number["rank"], fields["tail"]
        )
        return " ".join(",".join(map(str, step)) or "-" for step in steps)
    elif name == "substitute":
        tries = range(number["attempts"])
        keys = number["count"], number["seed"], number["epoch"], number["sample"]
        return " ".join(str(substitute(*keys, attempt)) for attempt in tries)
    elif name == "skip":
        steps = skip(numbers(fields["samples"]), set(numbers(fields["damaged"])), number["batch"])
        return " ".join(",".join(map(str, step)) or "-" for step in steps)
    else:
        raise ValueError(f"no vector is called {name}")
    return " ".join(str(at(position)) for position in numbers(fields["at"]))


def vectors(text):
    """The lines of the blocks marked `vectors` in a document."""
    inside = False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = line == "```vectors"
        elif inside and line and not line.startswith("#"):
            yield line


def check(text):
    """The vectors of a document that this implementation does not confirm."""
    return [line for line in vectors(text) if parse(line)[2] != compute(line)]


def main(arguments):
    write = "--write" in arguments
    paths = [word for word in arguments if word != "--write"]
    path = Path(paths[0] if paths else Path(__file__).parent.parent / "docs" / "order.md")
    text = path.read_text()
    if write:
        for line in vectors(text):
            text = text.replace(line, f"{line.partition(':')[0]}: {compute(line)}")
        path.write_text(text)
    wrong = check(text)
    for line in wrong:
        print(f"{line}\n    computed: {compute(line)}", file=sys.stderr)
    print(f"{len(list(vectors(text)))} vectors, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
