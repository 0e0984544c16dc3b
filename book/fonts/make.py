"""Make the book's fonts: `python -m book.fonts.make FOLDER`, where FOLDER contains the packages that README.md names.

It writes two style sheets that contain the fonts as data: one for the book, and one with few characters, which every
feedback page contains. Letters that no page contains are in files of their own, which a browser loads if a reader
writes one. To change a font, change this file and not the style sheets.
"""

import base64
import hashlib
import io
import sys
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "book" / "static"
(FEEDBACK,) = ROOT.glob("autograder/**/templates/feedback")

PACKAGES = {  # npm package -> SHA-256
    "source-serif-4.5.1.tgz": "19a448df98f4aa777de3452b0a1e29aa7ffe29252fe552c8a2d2531702d80746",
    "source-sans-3.52.0.tgz": "49cf78ddd79b436591ee696785222b54ff28102922e3d3df297fe382d7fdfa88",
    "source-code-pro-2.42.0.tgz": "51f898e0712c5f1b3f583b63c9ab7d51daaa9bae1d4c8dc63dc2a4b6a72d7ae4",
    "fortawesome-fontawesome-free-6.5.2.tgz": "1622d514686c299db3ffe9405c4f124778ce812658f66282d4524247e66fff9c",
}

# Printable ASCII, characters for prose and small drawings, and the letters of names in the pages.
BOOK = [*range(0x20, 0x7F), *range(0xA0, 0xC0), *range(0x2010, 0x2028)]
BOOK += [0x303, *map(ord, "×áäçèéóüāıŁşθεδ₀₁₂₃₄₅₆₇₈₉ᵀ′″€™←↑→↓↔−√∞≈≠≤≥□▫○●✓✗")]
# The other letters of most European languages in Latin script, which readers may write.
RARE = sorted({*range(0xC0, 0x180)} - {*BOOK})
FEEDBACK_TEXT = [*range(0x20, 0x7F), 0xA0, *map(ord, "ÄÖÜäöüß·×–—‘’“”…→−")]
FEEDBACK_MARKS = [*map(ord, "○●✓✗")]
# Icons of the theme's templates and scripts, of its style sheets, and of the buttons in book/live/launch_buttons.py.
ICONS = {
    **{"angle-down": 0xF107, "angle-left": 0xF104, "angle-right": 0xF105, "arrow-up": 0xF062, "bars": 0xF0C9},
    **{"circle-half-stroke": 0xF042, "list": 0xF03A, "magnifying-glass": 0xF002, "moon": 0xF186, "sun": 0xF185},
    **{"bell": 0xF0F3, "circle-check": 0xF058, "circle-exclamation": 0xF06A, "circle-info": 0xF05A},
    **{"circle-xmark": 0xF057, "lightbulb": 0xF0EB, "pencil": 0xF303, "share": 0xF064},
    **{"triangle-exclamation": 0xF071, "arrow-up-right-from-square": 0xF35D, "download": 0xF019},
    **{"magnifying-glass-minus": 0xF010, "rocket": 0xF135, "xmark": 0xF00D},
}
FEATURES = ["calt", "ccmp", "kern", "liga", "locl", "mark", "mkmk"]

COPYRIGHT, FAMILY, FACE, UNIQUE, FULL, POSTSCRIPT, LICENCE, LICENCE_URL = 0, 1, 2, 3, 4, 6, 13, 14
KEPT = [COPYRIGHT, LICENCE, LICENCE_URL]


@dataclass(frozen=True)
class Face:
    """One font file of a package, without ".ttf", and its family, weights and style in CSS."""

    family: str
    package: str
    file: str
    weight: str = "400"
    style: str = "normal"


SERIF = Face("House Serif", "source-serif-4.5.1.tgz", "TTF/SourceSerif4-Regular")
SERIF_BOLD = Face("House Serif", "source-serif-4.5.1.tgz", "TTF/SourceSerif4-Semibold", "600 700")
SERIF_ITALIC = Face("House Serif", "source-serif-4.5.1.tgz", "TTF/SourceSerif4-It", style="italic")
SANS = Face("House Sans", "source-sans-3.52.0.tgz", "TTF/SourceSans3-Regular")
SANS_BOLD = Face("House Sans", "source-sans-3.52.0.tgz", "TTF/SourceSans3-Semibold", "600 700")
SANS_ITALIC = Face("House Sans", "source-sans-3.52.0.tgz", "TTF/SourceSans3-It", style="italic")
MONO = Face("House Mono", "source-code-pro-2.42.0.tgz", "TTF/SourceCodePro-Regular")
MONO_BOLD = Face("House Mono", "source-code-pro-2.42.0.tgz", "TTF/SourceCodePro-Semibold", "600 700")
ICON = Face("House Icons", "fortawesome-fontawesome-free-6.5.2.tgz", "webfonts/fa-solid-900", "900")

IN_BOOK = (SERIF, SERIF_BOLD, SERIF_ITALIC, SANS, SANS_BOLD, SANS_ITALIC, MONO, MONO_BOLD)
IN_FEEDBACK = {SERIF: FEEDBACK_TEXT, SERIF_BOLD: FEEDBACK_TEXT, MONO: FEEDBACK_TEXT, SANS_BOLD: FEEDBACK_MARKS}

# Source Sans has no character for a transpose. MathJax has one, and is here already.
MATHJAX = STATIC / "mathjax" / "output" / "chtml" / "fonts" / "woff-v2" / "MathJax_Main-Regular.woff"
TRANSPOSE = 0x22A4

HEADER = (
    "/* Made by book/fonts/make.py: subsets of Source Serif 4, Source Sans 3 and Source Code Pro.\n"
    "   Copyright Adobe, under the SIL Open Font License 1.1, https://openfontlicense.org */\n"
)
ICON_HEADER = "/* Some icons of Font Awesome Free. Copyright Fonticons, under the same licence. */\n"
RULE = (
    '@font-face {{ font-family: "{family}"; font-style: {style}; font-weight: {weight}; {more}'
    'src: url("{source}") format("woff2"); }}\n'
)


def opened(packages: Path, package: str) -> tarfile.TarFile:
    """Return a package of npm. Raises ValueError if its hash is wrong."""
    content = (packages / package).read_bytes()
    if hashlib.sha256(content).hexdigest() != PACKAGES[package]:
        raise ValueError(f"{package} does not have the hash in PACKAGES")
    return tarfile.open(fileobj=io.BytesIO(content))


def _read(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    assert file, f"{name} is a folder"
    return file.read()


def woff2(font: TTFont, family: str, characters: list[int], features: list[str]) -> bytes:
    """Return the bytes of a font with these characters only, without hints, under the book's name for it.

    The licence requires another name, because it reserves "Source" for the unchanged fonts.
    """
    options = subset.Options(hinting=False, layout_features=features, name_IDs=KEPT)
    options.drop_tables += ["FFTM"]  # the time stamp of FontForge
    subsetter = subset.Subsetter(options)
    subsetter.populate(unicodes=characters)
    subsetter.subset(font)
    face = str(font["OS/2"].usWeightClass)
    names = {FAMILY: family, FACE: face, FULL: f"{family} {face}", POSTSCRIPT: f"{family}-{face}".replace(" ", "")}
    for number, name in {UNIQUE: names[FULL], **names}.items():
        font["name"].setName(name, number, 3, 1, 0x409)
    font.flavor = "woff2"
    font.save(buffer := io.BytesIO())
    return buffer.getvalue()


def subset_of(packages: Path, face: Face, characters: list[int], features: list[str]) -> bytes:
    """Return the bytes of a face with these characters only."""
    with opened(packages, face.package) as archive:
        font = TTFont(io.BytesIO(_read(archive, f"package/{face.file}.ttf")), recalcTimestamp=False)
    return woff2(font, face.family, characters, features)


def rule(face: Face, source: str, characters: Iterable[int] = ()) -> str:
    """Return a @font-face rule. characters: those that it is for, if not for all."""
    more = f"unicode-range: {', '.join(f'U+{character:X}' for character in characters)}; " if characters else ""
    return RULE.format(family=face.family, style=face.style, weight=face.weight, more=more, source=source)


def as_data(content: bytes) -> str:
    """Return a font's bytes as an address."""
    return f"data:font/woff2;base64,{base64.b64encode(content).decode()}"


def make(packages: Path) -> None:
    """Write the style sheets, and the licences beside the book's style sheet."""
    fonts = STATIC / "fonts"
    fonts.mkdir(exist_ok=True)
    rules = [rule(face, as_data(subset_of(packages, face, BOOK, FEATURES))) for face in IN_BOOK]
    transpose = woff2(TTFont(MATHJAX, recalcTimestamp=False), "House Sans", [TRANSPOSE], [])
    rules.append(rule(SANS, as_data(transpose), [TRANSPOSE]))
    for face in IN_BOOK:
        file = fonts / f"{face.file.rpartition('/')[2]}-rare.woff2".replace("Source", "House")
        file.write_bytes(subset_of(packages, face, RARE, FEATURES))
        rules.append(rule(face, file.name, RARE))
    rules.append(ICON_HEADER + rule(ICON, as_data(subset_of(packages, ICON, list(ICONS.values()), []))))
    (fonts / "fonts.css").write_text(HEADER + "".join(rules), encoding="utf-8")
    feedback = [rule(face, as_data(subset_of(packages, face, few, []))) for face, few in IN_FEEDBACK.items()]
    (FEEDBACK / "fonts.css").write_text(HEADER + "".join(feedback), encoding="utf-8")
    for package in PACKAGES:
        with opened(packages, package) as archive:
            (name,) = {"package/LICENSE.md", "package/LICENSE.txt"} & set(archive.getnames())
            licence = _read(archive, name)
        (fonts / f"{package.rpartition('-')[0]}-OFL.txt").write_bytes(licence)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
