"""Make the book's fonts: `python -m book.fonts.make FOLDER`, where FOLDER holds the packages that README.md names.

It writes two style sheets that hold the fonts themselves: one for the book, and one of few characters for the pages of
feedback, each of which carries its own. A changed font is changed here, never in the style sheets.
"""

import base64
import hashlib
import io
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path

from fontTools import subset
from fontTools.ttLib import TTFont

ROOT = Path(__file__).resolve().parents[2]
STATIC = ROOT / "book" / "static"
(FEEDBACK,) = ROOT.glob("autograder/**/templates/feedback")

PACKAGES = {  # of npm: SHA-256
    "source-serif-4.5.1.tgz": "19a448df98f4aa777de3452b0a1e29aa7ffe29252fe552c8a2d2531702d80746",
    "source-sans-3.52.0.tgz": "49cf78ddd79b436591ee696785222b54ff28102922e3d3df297fe382d7fdfa88",
    "source-code-pro-2.42.0.tgz": "51f898e0712c5f1b3f583b63c9ab7d51daaa9bae1d4c8dc63dc2a4b6a72d7ae4",
}

# Printable ASCII, the letters of most European languages in Latin script, and the signs of prose and of small drawings.
BOOK = [*range(0x20, 0x7F), *range(0xA0, 0x180), *range(0x2010, 0x2028)]
BOOK += [0x303, *map(ord, "₀₁₂₃₄₅₆₇₈₉ᵀθεδ′″€™←↑→↓↔−√∞≈≠≤≥□▫○●✓✗")]
FEEDBACK_TEXT = [*range(0x20, 0x7F), 0xA0, *map(ord, "ÄÖÜäöüß·×–—‘’“”…→−")]
FEEDBACK_MARKS = [*map(ord, "○●✓✗")]
FEATURES = ["calt", "ccmp", "kern", "liga", "locl", "mark", "mkmk"]

COPYRIGHT, FAMILY, FACE, UNIQUE, FULL, POSTSCRIPT, LICENCE, LICENCE_URL = 0, 1, 2, 3, 4, 6, 13, 14
KEPT = [COPYRIGHT, LICENCE, LICENCE_URL]


@dataclass(frozen=True)
class Face:
    """One font file of a package, and what it is in CSS. The weights are those that it is shown for."""

    family: str
    package: str
    file: str
    weight: str = "400"
    style: str = "normal"


SERIF = Face("House Serif", "source-serif-4.5.1.tgz", "SourceSerif4-Regular")
SERIF_BOLD = Face("House Serif", "source-serif-4.5.1.tgz", "SourceSerif4-Semibold", "600 700")
SERIF_ITALIC = Face("House Serif", "source-serif-4.5.1.tgz", "SourceSerif4-It", style="italic")
SANS = Face("House Sans", "source-sans-3.52.0.tgz", "SourceSans3-Regular")
SANS_BOLD = Face("House Sans", "source-sans-3.52.0.tgz", "SourceSans3-Semibold", "600 700")
SANS_ITALIC = Face("House Sans", "source-sans-3.52.0.tgz", "SourceSans3-It", style="italic")
MONO = Face("House Mono", "source-code-pro-2.42.0.tgz", "SourceCodePro-Regular")
MONO_BOLD = Face("House Mono", "source-code-pro-2.42.0.tgz", "SourceCodePro-Semibold", "600 700")

IN_BOOK = (SERIF, SERIF_BOLD, SERIF_ITALIC, SANS, SANS_BOLD, SANS_ITALIC, MONO, MONO_BOLD)
IN_FEEDBACK = {SERIF: FEEDBACK_TEXT, SERIF_BOLD: FEEDBACK_TEXT, MONO: FEEDBACK_TEXT, SANS_BOLD: FEEDBACK_MARKS}

# Source Sans has no sign for a transpose; MathJax has, and stands here already.
MATHJAX = STATIC / "mathjax" / "output" / "chtml" / "fonts" / "woff-v2" / "MathJax_Main-Regular.woff"
TRANSPOSE = 0x22A4

HEADER = (
    "/* Made by book/fonts/make.py: subsets of Source Serif 4, Source Sans 3 and Source Code Pro.\n"
    "   Copyright Adobe, under the SIL Open Font License 1.1, https://openfontlicense.org */\n"
)
RULE = (
    '@font-face {{ font-family: "{family}"; font-style: {style}; font-weight: {weight}; {more}'
    'src: url("data:font/woff2;base64,{data}") format("woff2"); }}\n'
)


def opened(packages, package):
    """A package of npm, as a tarfile, once its content is the one known."""
    content = (packages / package).read_bytes()
    assert hashlib.sha256(content).hexdigest() == PACKAGES[package], f"{package} is not the file it was"
    return tarfile.open(fileobj=io.BytesIO(content))


def woff2(font, family, characters, features):
    """The bytes of a font with these characters only, without hints, under the book's own name for it.

    The name is changed because the licence asks for it: "Source" is reserved for the unchanged fonts.
    """
    options = subset.Options(hinting=False, layout_features=features, name_IDs=KEPT)
    options.drop_tables += ["FFTM"]  # FontForge's time stamp
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


def rule(packages, face, characters, features):
    """The @font-face rule of a face."""
    with opened(packages, face.package) as archive:
        font = TTFont(archive.extractfile(f"package/TTF/{face.file}.ttf"), recalcTimestamp=False)
    return written(face.family, face.style, face.weight, woff2(font, face.family, characters, features))


def written(family, style, weight, content, more=""):
    data = base64.b64encode(content).decode()
    return RULE.format(family=family, style=style, weight=weight, more=more, data=data)


def make(packages):
    """Write the style sheets, and the licences beside the book's."""
    fonts = STATIC / "fonts"
    fonts.mkdir(exist_ok=True)
    rules = [rule(packages, face, BOOK, FEATURES) for face in IN_BOOK]
    sign = woff2(TTFont(MATHJAX, recalcTimestamp=False), "House Sans", [TRANSPOSE], [])
    rules.append(written("House Sans", "normal", "400", sign, more=f"unicode-range: U+{TRANSPOSE:X}; "))
    (fonts / "fonts.css").write_text(HEADER + "".join(rules), encoding="utf-8")
    few = [rule(packages, face, characters, []) for face, characters in IN_FEEDBACK.items()]
    (FEEDBACK / "fonts.css").write_text(HEADER + "".join(few), encoding="utf-8")
    for package in PACKAGES:
        with opened(packages, package) as archive:
            licence = archive.extractfile("package/LICENSE.md").read()
        (fonts / f"{package.rpartition('-')[0]}-OFL.txt").write_bytes(licence)


if __name__ == "__main__":
    make(Path(sys.argv[1]))
