#!/usr/bin/env python3
"""Write tests/golden/resize/expected.txt: what torchvision v2 makes of pictures, as checksums.

Pictures are noise that the C test can make, too: byte i of picture `seed` is the top byte of
mix64(seed * 2^32 + i). Parameters of random transforms come from tools/draws_reference.py, pixels
from torchvision's functional kernels on uint8 tensors on a processor with AVX2, one transform after
the other. Checksums are CRC-32C of the output bytes.

    tools/make_resize_golden.py
"""

import sys
from pathlib import Path

import numpy as np
import torch
import torchvision
from draws_reference import Draws, flip, random_crop, random_resized_crop
from torchvision.transforms.v2 import InterpolationMode
from torchvision.transforms.v2 import functional as F

TARGET = Path(__file__).parent.parent / "tests" / "golden" / "resize" / "expected.txt"
MODES = {
    "bilinear": InterpolationMode.BILINEAR,
    "bicubic": InterpolationMode.BICUBIC,
    "nearest": InterpolationMode.NEAREST,
}
DTYPES = {
    "u8": torch.uint8,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "f32": torch.float32,
}
RATIO = (3 / 4, 4 / 3)
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def picture(seed, width, height):
    """(3, height, width) uint8"""
    x = np.arange(width * height * 3, dtype=np.uint64) + np.uint64(seed << 32)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        x = (x ^ x >> np.uint64(33)) * np.uint64(factor)
    bytes_ = ((x ^ x >> np.uint64(33)) >> np.uint64(56)).astype(np.uint8)
    return torch.from_numpy(bytes_.reshape(height, width, 3)).permute(2, 0, 1)


def crc32c_table():
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (0x82F63B78 if byte & 1 else 0)
        yield byte


TABLE = list(crc32c_table())


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def checksum(image, layout="nhwc"):
    image = image if layout == "nchw" else image.permute(1, 2, 0)
    return f"0x{crc32c(image.contiguous().view(torch.uint8).numpy().tobytes()):08x}"


# The transforms of chains, by the names that the C test has, too


def pad_crop(size, padding=(0, 0, 0, 0), if_needed=False, mode="constant", fill=(0, 0, 0)):
    def apply(image, draws):
        height, width = image.shape[-2:]
        left, top = random_crop(draws, (width, height), (size, size), padding, if_needed)
        pad = [max(-left, 0), max(-top, 0)]
        pad += [max(left + size - width, 0), max(top + size - height, 0)]
        if any(pad):  # no more than the window needs, which is the same pixels
            fills = list(fill) if mode == "constant" else 0
            image = F.pad(image, pad, fill=fills, padding_mode=mode)
        return F.crop(image, top + pad[1], left + pad[0], size, size)

    return apply


def resized_crop(size, mode="bilinear", antialias=True):
    def apply(image, draws):
        height, width = image.shape[-2:]
        left, top, w, h = random_resized_crop(draws, width, height, (0.08, 1.0), RATIO)
        return F.resized_crop(image, top, left, h, w, [size, size], MODES[mode], antialias)

    return apply


def resize(size, mode="bilinear", antialias=True, max_size=None):
    size = [size] if isinstance(size, int) else list(size)
    return lambda image, draws: F.resize(image, size, MODES[mode], max_size, antialias)


def centre(height, width):
    return lambda image, draws: F.center_crop(image, [height, width])


def random_flip(image, draws):
    return F.horizontal_flip(image) if flip(draws, 0.5) else image


def always_flip(image, draws):
    return F.horizontal_flip(image)


def fixed(top, left, height, width):
    return lambda image, draws: F.crop(image, top, left, height, width)


CHAINS = {
    "train": [resized_crop(224), random_flip],
    "train_bicubic": [resized_crop(96, "bicubic"), random_flip],
    "train_nearest": [resized_crop(64, "nearest"), random_flip],
    "train_plain": [resized_crop(64, "bilinear", False), random_flip],
    "eval": [resize(256), centre(224, 224)],
    "eval_small": [resize(60, "bicubic"), centre(71, 50)],
    "cifar": [pad_crop(32, (4, 4, 4, 4), fill=(9, 200, 31)), random_flip],
    "cifar_reflect": [pad_crop(32, (4, 3, 2, 1), mode="reflect"), random_flip],
    "cifar_edge": [pad_crop(40, (4, 4, 4, 4), if_needed=True, mode="edge"), random_flip],
    "cifar_symmetric": [pad_crop(32, (5, 5, 5, 5), mode="symmetric"), random_flip],
    "flip_first": [always_flip, resized_crop(40), random_flip],
    "padded_resize": [
        pad_crop(48, if_needed=True, mode="symmetric"),
        resize((31, 57)),
        random_flip,
    ],
    "two_resizes": [
        resize(50, max_size=80),
        random_flip,
        resize((33, 20), "bicubic"),
        centre(24, 24),
    ],
    "resize_pad": [resize((20, 26)), pad_crop(32, (6, 6, 6, 6), mode="reflect"), always_flip],
    "crops": [
        fixed(3, 5, 24, 20),
        always_flip,
        centre(30, 16),
        resize((7, 40), "nearest"),
        centre(9, 33),
    ],
}


def values(image, dtype, normal):
    if dtype == "u8":
        return image
    image = F.to_dtype(image, torch.float32, scale=True)
    if normal:
        image = F.normalize(image, MEAN, STD)
    return image.to(DTYPES[dtype])


def chain_line(name, width, height, key, layout="nchw", dtype="u8", normal=0):
    seed, epoch, sample = key
    image = picture(sample, width, height)
    for number, transform in enumerate(CHAINS[name]):
        image = transform(image, Draws(seed, epoch, sample, number))
    head = f"chain name={name} width={width} height={height} seed={seed} epoch={epoch}"
    head += f" sample={sample} layout={layout} dtype={dtype} normal={normal}"
    return f"{head}: {checksum(values(image, dtype, normal), layout)}"


def resize_line(width, height, out_width, out_height, mode, antialias, seed):
    image = picture(seed, width, height)
    image = F.resize(image, [out_height, out_width], MODES[mode], antialias=bool(antialias))
    head = f"resize width={width} height={height} out_width={out_width} out_height={out_height}"
    return f"{head} mode={mode} antialias={antialias} seed={seed}: {checksum(image)}"


def resize_lines():
    sizes = [
        *[(1, 1, 1, 2), (1, 1, 7, 5), (2, 3, 3, 2), (7, 5, 1, 1), (9, 1, 4, 3), (1, 9, 3, 4)],
        *[(5, 4, 10, 8), (8, 8, 4, 4), (16, 16, 15, 17), (17, 13, 16, 14), (50, 40, 50, 20)],
        *[(50, 40, 21, 40), (64, 48, 63, 47), (64, 48, 65, 49), (65, 63, 224, 3), (99, 70, 33, 35)],
        *[(130, 90, 112, 112), (171, 60, 170, 59), (33, 29, 200, 150), (300, 7, 5, 70)],
        *[(500, 375, 224, 224), (122, 141, 224, 224), (333, 334, 224, 224), (3000, 2, 11, 3)],
        (65535, 2, 32, 2),
        (2, 4000, 3, 17),
    ]
    for seed, size in enumerate(sizes):
        for mode in MODES:
            for antialias in (1, 0) if mode != "nearest" else (1,):
                yield resize_line(*size, mode, antialias, seed)


def chain_lines():
    for name in CHAINS:
        small = name not in ("train", "eval")
        for sample in range(6):
            size = (36 + sample, 44 - sample) if small else (500, 375) if sample % 2 else (333, 500)
            yield chain_line(name, *size, (7, sample % 3, sample))
    for layout in ("nchw", "nhwc"):
        for dtype in DTYPES:
            for normal in (0, 1) if dtype != "u8" else (0,):
                yield chain_line("train_bicubic", 61, 77, (1, 2, 3), layout, dtype, normal)
                yield chain_line("cifar", 32, 32, (1, 2, 4), layout, dtype, normal)


def main():
    if torch.backends.cpu.get_cpu_capability() not in ("AVX2", "AVX512"):
        sys.exit("torch resizes uint8 by other rules on a processor without AVX2")
    lines = [
        f"# Made by tools/make_resize_golden.py with torch {torch.__version__.partition('+')[0]} and"
        f" torchvision {torchvision.__version__.partition('+')[0]}.",
        "# Checksums are CRC-32C of the output bytes.",
        *resize_lines(),
        *chain_lines(),
    ]
    TARGET.parent.mkdir(parents=True, exist_ok=True)
    TARGET.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
