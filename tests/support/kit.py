"""The kit of the field cases: tar archives, pictures and arrays made by hand, byte by byte."""

import io
import struct
import zlib

import numpy as np
from PIL import Image

# --- tar ---------------------------------------------------------------------------------------

EOA = b"\0" * 1024  # end-of-archive marker


def hdr(name, size, typ=b"0", size_field=None, prefix=b"", magic=b"ustar\x0000", link=b""):
    """One tar header."""
    head = bytearray(512)

    def put(offset, data):
        head[offset : offset + len(data)] = data

    put(0, name)
    put(100, b"0000644\0")
    put(108, b"0000000\0")
    put(116, b"0000000\0")
    put(124, size_field if size_field is not None else b"%011o\0" % size)
    put(136, b"00000000000\0")
    put(156, typ)
    put(157, link)
    put(257, magic)
    put(345, prefix)
    put(148, b" " * 8)
    put(148, b"%06o\0 " % sum(head))
    return bytes(head)


def blk(data):
    """Data, filled up to whole blocks."""
    return data + b"\0" * (-len(data) % 512)


def mem(name, data=b"x", **options):
    """One member."""
    return hdr(name, len(data), **options) + blk(data)


def save(path, data):
    """Write a file; returns its path as str."""
    path.write_bytes(data)
    return str(path)


# --- pictures ----------------------------------------------------------------------------------


def jpg(array, mode=None, **options):
    """A JPEG of quality 95."""
    file = io.BytesIO()
    picture = (
        Image.fromarray(array)
        if mode is None
        else Image.frombytes(mode, array.shape[1::-1], array.tobytes())
    )
    picture.save(file, "JPEG", quality=95, **options)
    return file.getvalue()


def pic(height=48, width=64):
    """A picture of two ramps."""
    array = np.zeros((height, width, 3), np.uint8)
    array[..., 0] = np.arange(width) * 255 // width
    array[..., 1] = (np.arange(height) * 255 // height)[:, None]
    array[..., 2] = 128
    return array


def numbered_picture(number, height=48, width=64):
    """A picture that differs from those of other numbers."""
    array = pic(height, width)
    array[..., 2] = (number * 37) % 256
    return array


def segs(jpeg, marker):
    """(start, end) of the first segment with that marker."""
    start = jpeg.find(bytes([0xFF, marker]))
    return start, start + 2 + struct.unpack(">H", jpeg[start + 2 : start + 4])[0]


def app14(transform):
    """Adobe's segment."""
    return b"\xff\xee\x00\x0eAdobe\x00\x64\0\0\0\0" + bytes([transform])


def chunk(kind, data=b"", crc=None):
    """A chunk of a PNG."""
    check = zlib.crc32(kind + data) if crc is None else crc
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", check)


def png(width, height, depth, colour, raw, before=b"", interlace=0):
    """A PNG of raw rows, each with its filter byte."""
    head = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlace)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + before
        + chunk(b"IDAT", zlib.compress(raw))
        + chunk(b"IEND")
    )


# --- npy ---------------------------------------------------------------------------------------


def npy(head, data, version=1):
    """A .npy whose header is that text."""
    text = head.encode("latin1") + b"\n"
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def npy_of(array, **options):
    """A .npy as NumPy writes it."""
    file = io.BytesIO()
    np.save(file, array, **options)
    return file.getvalue()


# --- datasets ----------------------------------------------------------------------------------


def one_field(path, field, *values):
    """A shard of samples s0, s1, ... with one field each."""
    name = field.encode()
    return save(
        path, b"".join(mem(b"s%d.%s" % (i, name), value) for i, value in enumerate(values)) + EOA
    )


def flat(lists):
    """The elements of lists, one after the other."""
    return [element for each in lists for element in each]


def one_batch(path, **options):
    """All samples of a small shard in one batch."""
    import stoker

    with stoker.Loader(path, batch_size=64, **options) as loader:
        (batch,) = loader
        return batch


def error_of(path, **options):
    """The error of a shard's first batch."""
    import stoker

    try:
        one_batch(path, **options)
    except stoker.Error as error:
        return error
    raise AssertionError("no error was raised")


def pillow(data):
    """What Pillow makes of a picture, as RGB."""
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))
