"""Make the golden files of tests/golden: small pictures and arrays, good and bad, and what is expected.

Run from the root of the tree: python tools/make_golden.py
Needs Pillow (13.0.0 made the committed files), NumPy, and cjpeg and djpeg of libjpeg-turbo (2.1.5).

pictures/expected.txt has one line a file: name, status, then for STK_OK width, height, orientation,
channels, depth, progressive (0 or 1), CRC-32C of the pixels as RGB; for failures the byte offset
and, after a colon, words that the text of the error has. Pixels are those that Pillow makes of a
file, or where it differs from our rules (docs/colour.md), what the recipe computes itself.
arrays/expected.txt is the same for .npy: name, status, dtype, shape, CRC-32C of the elements in C
order, little-endian.
"""

import io
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
from PIL import Image

GOLDEN = Path("tests/golden")
lines, array_lines = [], []


# --- CRC-32C, as in src/base/hash.c ------------------------------------------------------------
def _crc_table():
    table = []
    for n in range(256):
        for _ in range(8):
            n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
        table.append(n)
    return table


CRC_TABLE = _crc_table()


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


# --- Writing -----------------------------------------------------------------------------------
def rgb_of(data):
    """What Pillow makes of a picture."""
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def good(name, data, pixels=None, orientation=1, channels=3, depth=8, progressive=False):
    """A file that decodes to `pixels`, by default to what Pillow makes of it."""
    pixels = rgb_of(data) if pixels is None else np.asarray(pixels, np.uint8)
    (GOLDEN / "pictures" / name).write_bytes(data)
    height, width = pixels.shape[:2]
    crc = crc32c(np.ascontiguousarray(pixels).tobytes())
    lines.append(
        f"{name} STK_OK {width} {height} {orientation} {channels} {depth} {int(progressive)} "
        f"{crc:08x}"
    )


def bad(name, data, status, offset, words):
    """A file that fails; `words` stand in the text of the error."""
    (GOLDEN / "pictures" / name).write_bytes(data)
    lines.append(f"{name} {status} {offset} :{words}")


# --- JPEG --------------------------------------------------------------------------------------
def jpg(a, mode=None, **options):
    f = io.BytesIO()
    image = Image.fromarray(a) if mode is None else Image.frombytes(mode, a.shape[1::-1], a)
    image.save(f, "JPEG", **{"quality": 95, **options})
    return f.getvalue()


def pic(h=48, w=64):
    a = np.zeros((h, w, 3), np.uint8)
    a[..., 0] = np.arange(w) * 255 // w
    a[..., 1] = (np.arange(h) * 255 // h)[:, None]
    a[..., 2] = 128
    return a


def lively(h, w, seed):
    """Edges and noise in all channels, so that a wrong neighbour shows."""
    r = np.random.RandomState(seed)
    small = r.randint(0, 256, (h // 5 + 2, w // 5 + 2, 3)).astype(np.uint8)
    big = np.asarray(Image.fromarray(small).resize((w, h), Image.BICUBIC)).astype(np.int32)
    return np.clip(big + r.randint(-24, 25, (h, w, 3)), 0, 255).astype(np.uint8)


def ppm_of(a):
    f = io.BytesIO()
    Image.fromarray(a).save(f, "PPM")
    return f.getvalue()


def cjpeg(a, *options):
    command = ["cjpeg", "-quality", "90", *options]
    return subprocess.run(command, input=ppm_of(a), capture_output=True, check=True).stdout


def djpeg(data):
    """libjpeg-turbo itself, for samplings that other versions of it round otherwise."""
    out = subprocess.run(["djpeg", "-pnm"], input=data, capture_output=True, check=True).stdout
    return np.asarray(Image.open(io.BytesIO(out)).convert("RGB"))


def segment(j, marker):
    i = j.find(bytes([0xFF, marker]))
    return i, i + 2 + struct.unpack(">H", j[i + 2 : i + 4])[0]


def app14(transform):
    return b"\xff\xee\x00\x0eAdobe\x00\x64\0\0\0\0" + bytes([transform])


def jpeg_samplings():
    """Every way of upsampling, in an odd size; crops of these must be exact."""
    a = lively(97, 131, 7)
    ways = {
        "444": ["1x1"],
        "422": ["2x1"],
        "420": ["2x2"],
        "440": ["1x2"],
        "411": ["4x1"],
        "410": ["4x2"],
        "mix": ["2x2,1x2,2x1"],
        "lumasub": ["1x1,2x2,2x2"],
    }
    for tag, (way,) in ways.items():
        j = cjpeg(a, "-sample", way)
        good(f"sample_{tag}.jpg", j, djpeg(j))
    for tag, options in (
        ("progressive_420", ["-progressive"]),
        ("progressive_444", ["-progressive", "-sample", "1x1"]),
        ("arithmetic_420", ["-arithmetic"]),
        ("restart_420", ["-restart", "1"]),
        ("rgb", ["-rgb"]),
    ):
        j = cjpeg(a, *options)
        good(f"sample_{tag}.jpg", j, djpeg(j), progressive="-progressive" in options)
    good("sample_grey.jpg", cjpeg(a, "-grayscale"), channels=1)
    j = cjpeg(a, "-grayscale", "-progressive")
    good("sample_progressive_grey.jpg", j, channels=1, progressive=True)
    good("sample_cmyk.jpg", jpg(np.dstack([a, a[..., :1] // 2]), "CMYK"), channels=4)
    for h, w in ((1, 1), (2, 3), (7, 5), (33, 17), (9, 200)):
        j = cjpeg(lively(h, w, h))
        good(f"tiny_{w}x{h}.jpg", j, djpeg(j))


def jpeg_cases():
    a = np.zeros((16, 16, 4), np.uint8)
    a[:] = (200, 30, 60, 40)
    cmyk = jpg(a, "CMYK")
    good("c40.jpg", cmyk, channels=4)
    s, e = segment(cmyk, 0xEE)
    good("c40_plain.jpg", cmyk[:s] + cmyk[e:], channels=4)
    ycck = bytearray(cmyk)
    ycck[ycck.find(b"Adobe") + 11] = 2
    good("c41.jpg", bytes(ycck), channels=4)

    grey = jpg(pic()[..., 0])
    s, e = segment(grey, 0xE0)
    good("c43.jpg", grey, channels=1)
    good("c43_app14.jpg", grey[:e] + app14(0) + grey[e:], channels=1)

    j = jpg(pic())
    s, e = segment(j, 0xC0)
    t = bytearray(j)
    t[s + 4] = 12
    bad("c44_12bit.jpg", bytes(t), "STK_ENOTSUP", -1, "precision 12")
    t = bytearray(j)
    t[s + 1] = 0xC3
    bad("c44_sof3.jpg", bytes(t), "STK_ENOTSUP", -1, "SOF type 0xc3")

    f = io.BytesIO()
    Image.new("L", (48, 40), 128).save(f, "JPEG", progressive=True)
    p = f.getvalue()
    k = p.rfind(b"\xff\xda")
    scans = p[:k] + p[k:-2] * 600 + b"\xff\xd9"
    bad("c45.jpg", scans, "STK_ELIMIT", -1, "too many scans")

    for v in (0, 1, 3, 6, 8, 9):
        exif = Image.Exif()
        exif[0x0112] = v
        turned = v if 1 <= v <= 8 else 1
        good(f"c46_{v}.jpg", jpg(pic(8, 16), exif=exif.tobytes()), orientation=turned)
    ifd = b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x112, 3, 1, 6, 0, 0)
    good("c46_be.jpg", jpg(pic(8, 16), exif=b"Exif\0\0" + ifd), orientation=6)
    good("c46_cut.jpg", jpg(pic(8, 16), exif=b"Exif\0\0" + ifd[:14]))

    cut = j[: len(j) * 2 // 3]
    bad("c47.jpg", cut, "STK_ECORRUPT", len(cut), "JPEG data ended in row")
    bad("c47_head.jpg", j[:200], "STK_ECORRUPT", 200, "JPEG data ended in its header")
    bad("c47_noend.jpg", j[:-2], "STK_ECORRUPT", len(j) - 2, "ended")
    bad("c47_zeros.jpg", cut + bytes(len(j) - len(cut)), "STK_ECORRUPT", -1, "JPEG")

    pixels = rgb_of(j)
    good("c49_fill.jpg", j[:2] + b"\xff\xff\xff" + j[2:], pixels)
    bad("c49_soi.jpg", b"\xff\xd8" + j, "STK_ECORRUPT", -1, "two SOI markers")
    good("c49_extra.jpg", j[:-2] + b"\x12\x34\x56" + j[-2:], pixels)
    seg = b"Adobe\0\x64\0\0\0\0\1" + b"\0" * 24
    long14 = j[:2] + b"\xff\xee" + struct.pack(">H", len(seg) + 2) + seg + j[2:]
    good("c49_app14.jpg", long14, pixels)

    f = io.BytesIO()
    two = [Image.fromarray(255 - pic())]
    Image.fromarray(pic()).save(f, "MPO", save_all=True, append_images=two)
    good("c51.jpg", f.getvalue())
    good("c61.jpg", jpg(pic(), icc_profile=np.random.RandomState(3).bytes(70_000)))

    t = bytearray(cjpeg(lively(97, 131, 7), "-restart", "1"))
    k = t.find(b"\xff\xd2")
    t[k + 1] = 0xD5
    bad("restart_lost.jpg", bytes(t), "STK_ECORRUPT", -1, "JPEG damaged in row")
    table = cjpeg(lively(97, 131, 7))
    whole = djpeg(table)
    s, e = segment(table, 0xDB)
    bad("no_tables.jpg", table[:s] + table[e:], "STK_ECORRUPT", -1, "Quantization table")
    while table.find(b"\xff\xc4") >= 0:
        s, e = segment(table, 0xC4)
        table = table[:s] + table[e:]
    good("motion_jpeg.jpg", table, whole)
    s, e = segment(j, 0xC0)
    huge = bytearray(j)
    huge[s + 5 : s + 9] = struct.pack(">HH", 16000, 16000)
    bad("false_size.jpg", bytes(huge), "STK_ECORRUPT", len(j), "false size")
    huge[s + 5 : s + 9] = struct.pack(">HH", 60000, 60000)
    bad("limit.jpg", bytes(huge), "STK_ELIMIT", 0, "max_pixels")


def not_pictures():
    good("c52_png.jpg", png_of(pic()))
    html = b"<!DOCTYPE html><html>please log in</html>"
    bad("c52_html.jpg", html, "STK_ECORRUPT", 0, "not a picture (looks like HTML)")
    xml = b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>"
    bad("c52_xml.jpg", xml, "STK_ECORRUPT", 0, "not a picture (looks like XML)")
    bad("empty.jpg", b"", "STK_ECORRUPT", 0, "not a picture (no bytes")
    a = Image.new("RGB", (16, 16), (200, 0, 0))
    b = a.copy()
    b.paste((0, 0, 200), (2, 2, 6, 6))
    f = io.BytesIO()
    a.save(f, "GIF", save_all=True, append_images=[b], disposal=0, duration=40)
    bad("c59.gif", f.getvalue(), "STK_ENOTSUP", 0, "GIF picture")
    for kind, name in (("BMP", "BMP"), ("TIFF", "TIFF"), ("PPM", "PNM")):
        f = io.BytesIO()
        a.resize((2, 2)).save(f, kind)
        bad(f"other.{kind.lower()}", f.getvalue(), "STK_ENOTSUP", 0, f"{name} picture")
    heads = {
        "avif": b"\0\0\0\x1cftypavif\0\0\0\0",
        "heic": b"\0\0\0\x18ftypheic\0\0\0\0",
        "jxl": b"\xff\x0a\xfa\x1f\x41",
        "jp2": b"\0\0\0\x0cjP  \r\n\x87\n\0\0\0\x14ftypjp2 ",
    }
    said = {"avif": "AVIF", "heic": "HEIC", "jxl": "JPEG XL", "jp2": "JPEG 2000"}
    for tag, head in heads.items():
        bad(f"other.{tag}", head, "STK_ENOTSUP", 0, f"{said[tag]} picture")


# --- PNG ---------------------------------------------------------------------------------------
def chunk(name, data=b"", crc=None):
    crc = zlib.crc32(name + data) if crc is None else crc
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", crc)


def png(w, h, depth, ctype, raw, pre=b"", il=0):
    head = struct.pack(">IIBBBBB", w, h, depth, ctype, 0, 0, il)
    data = chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND")
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + pre + data


def png_of(a, **options):
    f = io.BytesIO()
    Image.fromarray(a).save(f, "PNG", **options)
    return f.getvalue()


def adam7(a):
    out = b""
    passes = (
        (0, 0, 8, 8),
        (4, 0, 8, 8),
        (0, 4, 4, 8),
        (2, 0, 4, 4),
        (0, 2, 2, 4),
        (1, 0, 2, 2),
        (0, 1, 1, 2),
    )
    for x, y, dx, dy in passes:
        for row in a[y::dy, x::dx]:
            if row.size:
                out += b"\0" + row.tobytes()
    return out


def rows_of(a):
    return b"".join(b"\0" + r.tobytes() for r in a)


def grey(a):
    return np.dstack([a] * 3)


def png_cases():
    key = chunk(b"tRNS", b"\0\x05")
    five = np.array([[5, 7]], np.uint8)
    good("c54_gray_key.png", png(2, 1, 8, 0, b"\0\x05\x07", key), grey(five), channels=1)
    raw = b"\0" + bytes([1, 2, 3, 4, 5, 6])
    rgb = np.array([[[1, 2, 3], [4, 5, 6]]])
    good("c54_rgb_key.png", png(2, 1, 8, 2, raw, chunk(b"tRNS", b"\0\1\0\2\0\3")), rgb)
    bits = np.unpackbits(np.array([[0xAA, 0x80]], np.uint8), axis=1)[:, :9] * 255
    good("c54_1bit.png", png(9, 1, 1, 0, b"\0\xaa\x80"), grey(bits), channels=1, depth=1)
    two = np.array([[0, 85, 170, 255]])
    good("c54_2bit.png", png(4, 1, 2, 0, b"\0\x1b"), grey(two), channels=1, depth=2)
    la = np.full((1, 1, 3), 100)
    good("c54_la.png", png(1, 1, 8, 4, b"\0\x64\x80"), la, channels=2)

    r = np.random.RandomState(1)
    a = r.randint(0, 255, (5, 7, 3)).astype(np.uint8)
    good("c56.png", png(7, 5, 8, 2, adam7(a), il=1), a, progressive=True)
    good("c56_1x1.png", png(1, 1, 8, 2, adam7(a[:1, :1]), il=1), a[:1, :1], progressive=True)

    a = np.random.RandomState(1).randint(0, 255, (2, 7, 3)).astype(np.uint8)
    raw = rows_of(a)
    p = png(7, 2, 8, 2, raw)
    i = p.find(b"IDAT")
    n = struct.unpack(">I", p[i - 4 : i])[0]
    crc = p[: i + 4 + n] + b"\0\0\0\0" + p[i + 8 + n :]
    bad("c57_idatcrc.png", crc, "STK_ECORRUPT", i + 8 + n, "CRC error")
    good("c57_textcrc.png", png(7, 2, 8, 2, raw, chunk(b"tEXt", b"a\0b", crc=1)), a)
    good("c57_noend.png", p[:-12], a)
    bad("c57_cut.png", p[:-40], "STK_ECORRUPT", len(p) - 40, "PNG data ended in row")
    bad("c57_short.png", png(7, 2, 8, 2, raw[:25]), "STK_ECORRUPT", -1, "PNG damaged in row 2 of 2")
    good("c57_more.png", png(7, 2, 8, 2, raw + b"\0" * 500), a)
    good("c57_tail.png", p + b"zz", a)

    bits = png(30000, 30000, 1, 0, b"\0" * (3751 * 200))
    bad("c58_px.png", bits, "STK_ELIMIT", 0, "max_pixels")
    text = chunk(b"zTXt", b"k\0\0" + zlib.compress(b"A" * 5_000_000))
    one = np.ones((1, 1, 3))
    good("c58_txt.png", png(1, 1, 8, 0, b"\0\1", text), one, channels=1)
    bad(
        "false_size.png",
        png(16000, 16000, 8, 2, b"\0" * 200, il=1),
        "STK_ECORRUPT",
        -1,
        "false size",
    )


def png_kinds():
    """All colour types and depths, plain and interlaced."""
    r = np.random.RandomState(5)
    h, w = 13, 21
    shapes = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
    for ctype, channels in shapes.items():
        for depth in {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}[
            ctype
        ]:
            values = r.randint(0, 1 << depth, (h, w, channels))
            pre = b""
            if ctype == 3:
                palette = r.randint(0, 256, (1 << depth, 3)).astype(np.uint8)
                pre = chunk(b"PLTE", palette.tobytes())
                rgb = palette[values[..., 0]]
            else:
                eight = values * 255 // ((1 << depth) - 1) if depth < 8 else values >> (depth - 8)
                rgb = eight[..., :3] if channels >= 3 else grey(eight[..., 0])
            for il in (0, 1):
                raw = pack_interlaced(values, depth) if il else pack_rows(values, depth)
                name = f"kind_{ctype}_{depth}{'_i' if il else ''}.png"
                data = png(w, h, depth, ctype, raw, pre, il)
                good(name, data, rgb, channels=channels, depth=depth, progressive=il == 1)
    exif = b"MM\0*" + struct.pack(">IHHHIHHI", 8, 1, 0x112, 3, 1, 6, 0, 0)
    a = lively(6, 4, 2)
    good("c46.png", png(4, 6, 8, 2, rows_of(a), chunk(b"eXIf", exif)), a, orientation=6)


def pack_rows(values, depth):
    """Rows of samples, each with the filter byte 0 before it."""
    out = b""
    for row in values.reshape(values.shape[0], -1):
        if row.size == 0:
            continue
        if depth == 16:
            out += b"\0" + row.astype(">u2").tobytes()
        elif depth == 8:
            out += b"\0" + row.astype(np.uint8).tobytes()
        else:
            bits = np.unpackbits(row.astype(np.uint8)[:, None], axis=1)[:, 8 - depth :]
            out += b"\0" + np.packbits(bits.reshape(-1)).tobytes()
    return out


def pack_interlaced(values, depth):
    starts = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2))
    out = b""
    for x, y, dx, dy in (*starts, (0, 1, 1, 2)):
        out += pack_rows(values[y::dy, x::dx], depth)
    return out


# --- WebP --------------------------------------------------------------------------------------
def webp(image, **options):
    f = io.BytesIO()
    image.save(f, "WEBP", **options)
    return f.getvalue()


def webp_cases():
    a = np.random.RandomState(2).randint(0, 255, (8, 8, 4)).astype(np.uint8)
    frames = [Image.fromarray(np.full((8, 8, 3), c, np.uint8)) for c in (10, 120, 230)]
    anim = webp(frames[0], save_all=True, append_images=frames[1:])
    good("c60_anim.webp", anim)
    w = webp(Image.fromarray(a), lossless=True, exact=True)
    good("c60_alpha.webp", w, a[..., :3], channels=4)
    cut = w[: len(w) * 2 // 3]
    bad("c60_cut.webp", cut, "STK_ECORRUPT", len(cut), f"WebP ended at byte {len(cut)} of {len(w)}")
    good("c60_tail.webp", w + b"junk", a[..., :3], channels=4)
    t = bytearray(w)
    t[4:8] = struct.pack("<I", 8)
    bad("c60_riff.webp", bytes(t), "STK_ECORRUPT", 12, "WebP")

    b = lively(67, 91, 4)
    good("lossy.webp", webp(Image.fromarray(b), quality=90))
    good("lossless.webp", webp(Image.fromarray(b), lossless=True), b)
    rgba = np.dstack([b, b[..., :1]])
    lossy_alpha = webp(Image.fromarray(rgba), quality=90)
    good("lossy_alpha.webp", lossy_alpha, webp_without_alpha(lossy_alpha), channels=4)
    exif = Image.Exif()
    exif[0x0112] = 6
    good(
        "c46.webp", webp(Image.fromarray(b[:9, :5]), quality=90, exif=exif.tobytes()), orientation=6
    )
    part = Image.new("RGBA", (40, 30), (0, 0, 0, 0))
    part.paste((9, 200, 31, 255), (10, 6, 25, 20))
    other = Image.new("RGBA", (40, 30), (7, 7, 7, 255))
    small = webp(part, save_all=True, append_images=[other], lossless=True, minimize_size=True)
    good("frame_on_canvas.webp", small)


def webp_without_alpha(data):
    """The picture chunk of an extended file alone, in a simple one."""
    i = data.find(b"VP8 ")
    size = struct.unpack("<I", data[i + 4 : i + 8])[0]
    body = data[i : i + 8 + size + size % 2]
    return rgb_of(b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body)


# --- Arrays ------------------------------------------------------------------------------------
def npy(head, data, version=1):
    """A .npy by hand, so that spacing, quotes and sizes are any."""
    h = head.encode("latin1") + b"\n"
    n = struct.pack("<H" if version == 1 else "<I", len(h))
    return b"\x93NUMPY" + bytes([version, 0]) + n + h + data


def npy_of(a, **options):
    f = io.BytesIO()
    np.save(f, a, **options)
    return f.getvalue()


def good_npy(name, data):
    """A file whose elements are those that NumPy loads, in C order and little-endian."""
    (GOLDEN / "arrays" / name).write_bytes(data)
    a = np.load(io.BytesIO(data))
    shape = "(" + "".join(f"{n}," for n in a.shape) + ")"
    crc = crc32c(np.ascontiguousarray(a).astype(a.dtype.newbyteorder("<")).tobytes())
    array_lines.append(f"{name} STK_OK {a.dtype.name} {shape} {crc:08x}")


def bad_npy(name, data, status, offset, words):
    (GOLDEN / "arrays" / name).write_bytes(data)
    array_lines.append(f"{name} {status} {offset} :{words}")


def npy_cases():
    six = np.arange(6, dtype="<f4")
    good_npy("c63.npy", npy_of(np.asfortranarray(six.reshape(2, 3))))
    for tag, d in (("be", ">f4"), ("f2", "<f2"), ("u2", "<u2"), ("u8", "<u8"), ("b1", "?")):
        good_npy(f"c64_{tag}.npy", npy_of(np.arange(3).astype(d)))
    for tag, d in (("i1", "i1"), ("i2", ">i2"), ("i4", "<i4"), ("i8", ">i8"), ("f8", ">f8")):
        good_npy(f"c64_{tag}.npy", npy_of(np.arange(-3, 9).reshape(3, 4).astype(d)))
    for tag, d in (("c8", "<c8"), ("U", "<U2"), ("S", "S3"), ("M", "M8[D]")):
        text = np.dtype(d).str
        bad_npy(f"c64_{tag}.npy", npy_of(np.zeros(3, d)), "STK_ENOTSUP", 20, f"dtype {text} not")
    equal = "{'descr': '=f4', 'fortran_order': False, 'shape': (3,), }"
    good_npy("c64_eq.npy", npy(equal, b"\0" * 12))
    objects = npy_of(np.array([{"a": 1}, 2], object), allow_pickle=True)
    bad_npy("c65.npy", objects, "STK_ENOTSUP", 20, "pickle")

    data = six.tobytes()
    plain = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    good_npy("c66_v2.npy", npy(plain, data, 2))
    good_npy("c66_v3.npy", npy(plain, data, 3))
    good_npy("c66_tight.npy", npy("{'descr':'<f4','fortran_order':False,'shape':(2,3)}", data))
    quotes = '{"shape": (6,), "fortran_order": False, "descr": "<f4"}'
    good_npy("c66_dq.npy", npy(quotes, data))
    v9 = b"\x93NUMPY\x09\0" + b"\x10\0" + b" " * 16
    bad_npy("c66_v9.npy", v9, "STK_ENOTSUP", 6, "npy version 9.0")
    extra = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'z': 1}"
    bad_npy("c66_extra.npy", npy(extra, data), "STK_ECORRUPT", 71, "a key that is none of")

    good_npy("c68_0d.npy", npy_of(np.float32(3).reshape(())))
    good_npy("c68_e.npy", npy_of(np.zeros((0, 4), "f4")))
    full = npy_of(six)
    bad_npy("c68_cut.npy", full[:-5], "STK_ECORRUPT", len(full) - 5, "19 bytes; its header says 6")
    good_npy("c68_tail.npy", full + b"junk")
    shapes = {
        "huge": ("(4294967296, 4294967296)", "STK_ECORRUPT", 84, "64 bits"),
        "neg": ("(-1, 3)", "STK_ECORRUPT", 61, "no tuple of lengths"),
        "big": ("(4294967296, 65536)", "STK_ECORRUPT", 83, "0 bytes; its header says 2814"),
    }
    for tag, (shape, status, offset, words) in shapes.items():
        head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
        bad_npy(f"c68_{tag}.npy", npy(head, b""), status, offset, words)
    zbig = "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 99999999999), }"
    good_npy("c68_zbig.npy", npy(zbig, b""))
    table = np.array([(1, 2.5)], dtype=[("id", "<i4"), ("x", "<f8")])
    bad_npy("c69.npy", npy_of(table), "STK_ENOTSUP", 20, "structured dtype not supported: [('id'")
    four = np.arange(2 * 3 * 4 * 5, dtype=">u4").reshape(2, 3, 4, 5)
    good_npy("fortran_be.npy", npy_of(np.asfortranarray(four)))


def main():
    for folder in ("pictures", "arrays"):
        (GOLDEN / folder).mkdir(parents=True, exist_ok=True)
        for old in (GOLDEN / folder).iterdir():
            old.unlink()
    jpeg_samplings()
    jpeg_cases()
    not_pictures()
    png_cases()
    png_kinds()
    webp_cases()
    npy_cases()
    head = "# Made by tools/make_golden.py, which explains the columns.\n"
    for folder, known in (("pictures", lines), ("arrays", array_lines)):
        text = head + "\n".join(sorted(known)) + "\n"
        (GOLDEN / folder / "expected.txt").write_text(text)


if __name__ == "__main__":
    main()
