"""Find photographs: those among Debian's and Ubuntu's desktop backgrounds, or those of a folder.

Most desktop backgrounds are drawings, which compress and classify unlike photographs. The ones
known to be photographs are listed by name; on a machine with too few of them, other JPEG
backgrounds are judged by their grain: neighbours in a photograph are seldom exactly equal.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from PIL import Image, ImageChops

ROOTS = ("/usr/share/backgrounds", "/usr/share/wallpapers")
PACKAGES = ("mate-backgrounds", "lomiri-wallpapers", "plasma-workspace-wallpapers")
SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")
ENOUGH = 16  # known photographs; with fewer, unknown backgrounds are looked at, too
SMALLEST_SIDE = 700  # pixels

# Base names (or, where the file is named after its size, folder names) of what is a photograph in
# mate-backgrounds, lomiri-wallpapers-16.04 and -20.04, and plasma-workspace-wallpapers.
KNOWN = """
    Aqua Blinds Dune FreshFlower Garden GreenMeadow LadyBird RainDrops Storm TwoWings Wood
    YellowFlower
    Bridge_by_Sander_Klootwijk Dragonfly_by_Bolly Kleiber_by_Lukas_Baubkus Picture_0B_by_freespace
    Picture_1A_by_freespace Wine_by_Jakkub_Mede aitzgorri_by_Aitzol_Berasategi free_by_Peter_Nerlich
    friends_by_Aitzol_Berasategi greentock_by_Peter_Nerlich life_by_Aitzol_Berasategi
    picosdeeuropa_by_Aitzol_Berasategi seeding_by_Clements_Engelhardt
    sunset_by_Aitzol_Berasategi
    BytheWater ColdRipple ColorfulCups DarkestHour EveningGlow FallenLeaf Grey Kite OneStandsOut
    Path summer_1am
    """.split()


class NoPhotographs(Exception):
    """Too few photographs were found; the text says what to do."""


def name_of(path: Path) -> str:
    """What a photograph is called: its file's name, or its folder's where that is only a size."""
    if re.fullmatch(r"\d+x\d+", path.stem) and len(path.parts) > 4:
        return path.parts[-4]  # NAME/contents/images/2560x1600.jpg
    return path.stem


def class_name(path: Path) -> str:
    """The same as the name of a folder: lower case, letters, digits and dashes."""
    name = re.sub(r"_by_.*", "", name_of(path))
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "photo"


def _pictures_below(root: str) -> list[Path]:
    found = []
    for folder, _, names in os.walk(root):
        found += [Path(folder, name) for name in names if name.lower().endswith(SUFFIXES)]
    return sorted(path for path in found if path.is_file() and not path.is_symlink())


def _is_large(path: Path, smallest_side: int) -> bool:
    try:
        with Image.open(path) as picture:
            return min(picture.size) >= smallest_side
    except OSError:
        return False


def has_grain(path: Path) -> bool:
    """Whether fewer than 0.55 of the horizontally neighbouring pixels are exactly equal in grey.

    Of the backgrounds of Debian 12, photographs lie at 0.03 to 0.63 and drawings mostly above 0.6.
    """
    with Image.open(path) as picture:
        if picture.format != "JPEG":
            return False
        picture.draft("RGB", (1000, 1000))
        grey = picture.convert("L")
    width, height = grey.size
    left, right = grey.crop((0, 0, width - 1, height)), grey.crop((1, 0, width, height))
    equal = ImageChops.difference(left, right).histogram()[0]
    return equal < 0.55 * (width - 1) * height


def _one_of_each_name(paths: list[Path]) -> list[Path]:
    """One file a name, the largest: wallpapers come in several sizes."""
    best: dict[str, Path] = {}
    for path in paths:
        name = name_of(path)
        if name not in best or path.stat().st_size > best[name].stat().st_size:
            best[name] = path
    return [best[name] for name in sorted(best)]


def find(folder: str | None = None, at_least: int = 2) -> list[Path]:
    """Photographs, sorted by name: all large pictures below `folder`, else the machine's own.

    Raises NoPhotographs with the cure when there are fewer than `at_least`.
    """
    if folder is not None:
        found = [path for path in _pictures_below(folder) if _is_large(path, 300)]
        if len(found) < at_least:
            raise NoPhotographs(
                f"{folder}: {len(found)} pictures of at least 300 x 300 pixels were found "
                f"({', '.join(SUFFIXES)}); {at_least} or more are needed"
            )
        return found
    everything = [path for root in ROOTS for path in _pictures_below(root)]
    found = [path for path in everything if name_of(path) in KNOWN]
    if len(found) < ENOUGH:
        others = [path for path in everything if path not in found]
        found += [p for p in others if _is_large(p, SMALLEST_SIDE) and has_grain(p)]
    found = _one_of_each_name(found)
    if len(found) < at_least:
        raise NoPhotographs(
            f"{len(found)} photographs were found below {' and '.join(ROOTS)}; {at_least} or more "
            f"are needed.\nInstall some: apt-get install {' '.join(PACKAGES)}\n"
            "or name a folder of your own photographs."
        )
    return found
