"""Make the seed corpus of the index fuzz target, by docs/formats.md alone.

    python tools/make_index_corpus.py fuzz/corpus/index

The same bytes on every run. Since nothing of the engine takes part, a test that opens these files
also checks that the documentation says what the engine does.
"""

import struct
import sys
from pathlib import Path

MAGIC = b"\x89STKIX\r\n"
ENTRY_BYTES = {1: 8, 2: 32, 3: 32, 4: 1, 5: 24, 6: 24, 7: 32}


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


class Names:
    """The blob that all other sections point into."""

    def __init__(self) -> None:
        self.data = b""

    def put(self, text: bytes, *, closed: bool) -> int:
        at = len(self.data)
        self.data += text + (b"\0" if closed else b"")
        return at


def text_entry(names: Names, text: bytes, *words: int) -> bytes:
    return struct.pack("<QII", names.put(text, closed=True), len(text), 0) + b"".join(
        struct.pack("<Q" if word >= 0 else "<q", word) for word in words
    )


def index(
    kind: int,
    samples: list[list[tuple[bytes, int, bytes, int, int]]],
    *,
    notes: list[tuple[bytes, int]] = (),
    classes: list[tuple[bytes, int]] = (),
    folders: list[tuple[bytes, int, int]] = (),
    source: tuple[int, int, int, int] = (0, 0, 0, 0),
) -> bytes:
    """An index file. A sample is a list of members: name, bytes of its key, field, offset, size."""
    names = Names()
    fields: dict[bytes, list[int]] = {}
    members, firsts = b"", []
    for sample in samples:
        firsts.append(len(members) // 32)
        for name, key_bytes, field, offset, size in sample:
            stats = fields.setdefault(field, [len(fields), 0, 0])
            stats[1], stats[2] = max(stats[1], size), stats[2] + 1
            packed = names.put(name, closed=False) | key_bytes << 40
            members += struct.pack("<QQQII", offset, size, packed, len(name), stats[0])
    firsts.append(len(members) // 32)
    sections = {
        1: b"".join(struct.pack("<Q", first) for first in firsts),
        2: members,
        3: b"".join(text_entry(names, f, s[1], s[2]) for f, s in fields.items()),
        5: b"".join(text_entry(names, text, offset) for text, offset in notes),
        6: b"".join(text_entry(names, text, first) for text, first in classes),
        7: b"".join(text_entry(names, text, mtime, names_) for text, mtime, names_ in folders),
    }
    sections[4] = names.data
    return assemble(kind, len(samples), len(members) // 32, source, sections)


def assemble(
    kind: int, samples: int, members: int, source: tuple[int, ...], sections: dict[int, bytes]
) -> bytes:
    table, body = b"", b""
    front = 160 + 32 * sum(1 for data in sections.values() if data)
    for number, data in sorted(sections.items()):
        if not data:
            continue
        body += b"\0" * (-(front + len(body)) % 64)
        count = len(data) // ENTRY_BYTES[number]
        table += struct.pack(
            "<IIQQII", number, ENTRY_BYTES[number], front + len(body), count, crc32c(data), 0
        )
        body += data
    head = MAGIC + struct.pack("<IIII", 2, kind, 0, len(table) // 32)
    head += struct.pack("<Q", front + len(body)) + struct.pack("<QqII", *source)
    head += struct.pack("<QQQQ", 0x0123456789ABCDEF, 42, samples, members)
    head += b"\0" * (152 - len(head)) + struct.pack("<I", crc32c(table))
    head += struct.pack("<I", crc32c(head))
    return head + table + body


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    tar = index(
        1,
        [
            [(b"a.jpg", 1, b"jpg", 512, 700), (b"a.cls", 1, b"cls", 2048, 1)],
            [(b"dir/b.Seg.PNG", 5, b"seg.png", 3072, 10)],
        ],
        notes=[(b"no end-of-archive marker", 77)],
        source=(4096, -5, 7, 9),
    )
    tree = index(
        2,
        [[(b"ape/1.jpg", 5, b"jpg", 0, 3)], [(b"bee/x/2.jpg", 7, b"jpg", 0, 5)]],
        classes=[(b"ape", 0), (b"auk", 1), (b"bee", 1)],
        folders=[(b"", -(2**63), 17), (b"ape", 1_700_000_000 * 10**9, 2**64 - 1)],
    )
    (folder / "tar.stoker").write_bytes(tar)
    (folder / "tree.stoker").write_bytes(tree)
    (folder / "empty.stoker").write_bytes(index(1, []))
    (folder / "cut.stoker").write_bytes(tar[:-1])


if __name__ == "__main__":
    main()
