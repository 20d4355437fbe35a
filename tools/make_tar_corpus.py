"""Make the seed corpus of the tar fuzz target: one small archive a feature.

    python tools/make_tar_corpus.py fuzz/corpus/tar

The same bytes on every run. Members of 20 bytes, no padding to the record size: small seeds are
mutated more often.
"""

import sys
from pathlib import Path


def header(name: bytes, size: int, kind: bytes = b"0", **fields: bytes) -> bytes:
    block = bytearray(512)

    def put(offset: int, data: bytes) -> None:
        block[offset : offset + len(data)] = data

    put(0, name[:100])
    put(100, b"0000644\00000000\00000000\0")
    put(124, fields.get("size_field", b"%011o\0" % size))
    put(136, b"00000000000\0" + b" " * 8 + kind + fields.get("link", b""))
    put(257, fields.get("magic", b"ustar\x0000"))
    put(345, fields.get("prefix", b""))
    put(148, b"%06o\0 " % sum(block))
    return bytes(block)


def padded(data: bytes) -> bytes:
    return data + b"\0" * (-len(data) % 512)


def member(name: bytes, data: bytes = b"twenty bytes of data", kind: bytes = b"0", **fields: bytes):
    return header(name, len(data), kind, **fields) + padded(data)


def record(key: bytes, value: bytes) -> bytes:
    body = b" " + key + b"=" + value + b"\n"
    length = len(body)
    while len(str(length)) + len(body) != length:
        length = len(str(length)) + len(body)
    return str(length).encode() + body


def pax(*records: bytes, kind: bytes = b"x") -> bytes:
    return member(b"PaxHeaders/x", b"".join(records), kind)


END = b"\0" * 1024
LONG = b"long/" + b"n" * 130 + b".jpg"
BASE256 = b"\x80" + b"\0" * 10 + b"\x14"
A = member(b"a.jpg")

SEEDS = {
    "ustar": A + member(b"a.cls", b"3") + END,
    "v7": header(b"d/", 0, b"\0", magic=b"\0" * 8)
    + member(b"d/a.jpg", kind=b"\0", magic=b"\0" * 8)
    + END,
    "prefix": member(b"a.jpg", prefix=b"some/folder") + END,
    "gnu_long_name": member(b"././@LongLink", LONG + b"\0", b"L", magic=b"ustar  \0") + A + END,
    "gnu_long_link": A
    + member(b"././@LongLink", LONG + b"\0", b"K", magic=b"ustar  \0")
    + header(b"b.jpg", 0, b"1", link=b"a.jpg")
    + END,
    "pax_path": pax(record(b"path", LONG), record(b"mtime", b"1.5")) + A + END,
    "pax_size": pax(record(b"size", b"20"))
    + header(b"a.jpg", 0)
    + padded(b"twenty bytes of data")
    + END,
    "pax_charset": pax(record(b"hdrcharset", b"BINARY"), record(b"path", b"caf\xe9.jpg")) + A + END,
    "pax_global": pax(record(b"comment", b"made by a tool"), record(b"path", b"g.jpg"), kind=b"g")
    + A
    + END,
    "pax_sparse": pax(record(b"GNU.sparse.major", b"1"), record(b"GNU.sparse.name", b"s.bin"))
    + A
    + END,
    "pax_broken": member(b"PaxHeaders/x", b"999 path=zzz.jpg\n", b"x") + A + END,
    "old_sparse": member(b"s.bin", kind=b"S", magic=b"ustar  \0") + END,
    "base_256": header(b"a.jpg", 0, size_field=BASE256) + padded(b"twenty bytes of data") + A + END,
    "bad_size": header(b"a.jpg", 0, size_field=b"\xff" * 12) + A + END,
    "hard_links": A
    + header(b"b.jpg", 0, b"1", link=b"a.jpg")
    + header(b"c.jpg", 0, b"1", link=b"b.jpg")
    + header(b"d.jpg", 0, b"1", link=b"nowhere")
    + header(b"e.jpg", 0, b"2", link=b"a.jpg")
    + END,
    "link_with_size": A + header(b"b.jpg", 700, b"1", link=b"a.jpg") + member(b"c.jpg") + END,
    "link_with_data": member(b"b.jpg", kind=b"1", link=b"gone.jpg") + member(b"c.jpg") + END,
    "other_kinds": member(b"u", kind=b"Z")
    + header(b"pipe", 0, b"6")
    + header(b"d", 0, b"5")
    + A
    + END,
    "concatenated": A + END + member(b"late.jpg") + END,
    "lone_zero_block": A + b"\0" * 512 + member(b"b.jpg") + END,
    "no_end": A,
    "junk_after_end": A + END + b"JUNKJUNK" * 16,
    "cut_in_data": A + header(b"b.jpg", 700) + b"cut",
    "cut_in_header": A + header(b"b.jpg", 700)[:100],
    "gzip": b"\x1f\x8b\x08\0\0\0\0\0",
    "zeros": b"\0" * 2048,
}


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in SEEDS.items():
        (folder / f"{name}.tar").write_bytes(data)


if __name__ == "__main__":
    main()
