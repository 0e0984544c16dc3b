"""Make the entries of chapter 12 from WordNet 3.0.

    apt-get install wordnet-base
    python -m autograder.exercises.dictionary.make_entries /usr/share/wordnet /usr/share/doc/wordnet-base/copyright

writes `chapters/definitions.npz`, which readers get and which has the merges of the book's model, and `withheld.npz`
beside this script, with which weights are graded. WordNet's license requires its notice to go with every copy, so both
files contain it, and a text file beside the first repeats it.

Synonyms share a gloss, and 44% of the entries share theirs with another entry. So a split by words would put glosses
of the withheld entries into the training, word for word. The split is by gloss: no part shares a gloss with another.
"""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from autograder.layout import REPO
from solutions.definitions import pieces, vocabulary_of
from solutions.dictionary import merges_of

SHIPPED = REPO / "chapters" / "definitions.npz"
WITHHELD = Path(__file__).with_name("withheld.npz")
SEED = 2006
N_HELD_OUT, N_WITHHELD, N_TOKENS = 1_500, 3_000, 1_024
FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv"}
OFFENSIVE_USAGES = {"disparagement", "ethnic_slur", "obscenity"}  # where a pointer ";u" may lead

# WordNet marks few of its slurs and obscenities with a pointer. Some glosses say it in words, which the entries leave
# out with everything in parentheses. The lists below find the others, by the word or by its gloss.
SAYS_SO = re.compile(
    r"\([^)]*\b(ethnic slur|offensive|derogat\w*|disparag\w*|obscen\w*|slur|vulgar\w*)\b[^)]*\)"
    r"|\b(offensive|derogatory|disparaging|obscene|insulting|vulgar) (terms?|names?|words?|slang)"
)
RUDE_WORD = re.compile(
    r"fuck|shit(?!t(ah|im))|cunt|^piss(ed|er)?$|^arse$|^bitch|^slut|^whore|^wank(?!el)|^bugger|bollock|^twat|^tits?$"
    r"|^boob|^fart(s|ing)?$|^turd$|^bastard|dildo|^crap(per|py)?$|^prick(ed|er|teaser)?$|^pussy$|blowjob|^nigg(?!ar|l)"
    r"|^negr(o|oid|ess)$|gyp$|^squaw$|mulatto|quadroon|octoroon|mongoloid$|caucasoid$|^homo$|^lesbos?$|^sissy|^limey$"
    r"|^goy$|^jewess$|^heathen|^papis|^idiot|^imbecil|^moron(ic|ity)?$|^cretin|^retard(ed|ate)?$|^cripple$|^midget$"
    r"|^spastic$|^suicid"
)
SEXUAL = re.compile(
    r"\b(a|auto|bi|de|hetero|homo|inter|trans)?sex(es|ual|uals|ually|uality|ed|y|ism|ist)?\b|\bcoit|copulat|fornicat"
    r"|masturbat|orgasm|ejaculat|\bpenis|vagin|vulva|clitor|\bscrot|testic|genital|prostitut|brothel|pornograph|erotic"
    r"|\brap(e|es|ed|ing|ist)\b|incest(?!ion)|p(a)?edophil|sodom|fellat|cunniling|nipple|lesbian|\bphall|nymphoman"
    r"|\bpimp\b|bestiality|\bsemen\b|\blust(s|ful)?\b|condom\b"
)


class Synset(NamedTuple):
    """A set of synonyms. pointers: (symbol, offset of the target, two numbers that say from which word to which)."""

    words: list[str]
    pointers: list[tuple[str, str, str]]
    gloss: str


def main(folder: str, copyright_file: str) -> None:
    """Write both files of entries, and the notice beside the shipped one."""
    notice = Path(copyright_file).read_text(encoding="utf-8")
    parts = split(sorted(entries(Path(folder))))
    SHIPPED.with_suffix(".LICENSE.txt").write_text(notice, encoding="utf-8")
    counts = Counter(piece for line in parts["known"] for piece in pieces(line))
    parts["merges"] = ["\t".join(pair) for pair in merges_of(counts, N_TOKENS - len(vocabulary_of([])))]
    for path, names in ((SHIPPED, ("known", "held_out", "merges")), (WITHHELD, ("withheld",))):
        texts = {name: np.frombuffer("\n".join(parts[name]).encode(), np.uint8) for name in names}
        np.savez_compressed(path, notice=np.array(notice), **texts)
        print(f"{path.relative_to(REPO)}: {path.stat().st_size:,} bytes", *(f"{n} {len(parts[n]):,}" for n in names))


def split(lines: list[str]) -> dict[str, list[str]]:
    """Divide entries into those to train on and two unseen parts, none of which has a gloss of another part."""
    glosses = list(dict.fromkeys(map(gloss_of, lines)))
    order = np.random.default_rng(SEED).permutation(len(glosses)).tolist()
    of_gloss: dict[str, list[str]] = {}
    for line in lines:
        of_gloss.setdefault(gloss_of(line), []).append(line)
    parts: dict[str, list[str]] = {"withheld": [], "held_out": [], "known": []}
    for i in order:
        withheld, held_out = len(parts["withheld"]) < N_WITHHELD, len(parts["held_out"]) < N_HELD_OUT
        parts["withheld" if withheld else "held_out" if held_out else "known"] += of_gloss[glosses[i]]
    return {name: sorted(part) for name, part in parts.items()}


def gloss_of(line: str) -> str:
    return line.partition(": ")[2]


def entries(folder: Path) -> Iterator[str]:
    """Yield an entry such as "choir n: a chorus that sings" for the first sense of each fitting word.

    Args:
        folder: WordNet's files `index.noun`, `data.noun`, ... They are described in its manual page wndb(5WN).
    """
    synsets = {(letter, offset): synset for letter in FILES for offset, synset in read_synsets(folder, letter)}
    senses = [(letter, word, offsets) for letter in FILES for word, offsets in read_index(folder, letter)]
    marked = {
        word
        for letter, word, offsets in senses
        if any(is_marked(word, synsets[letter, offset], synsets) for offset in offsets)
    }
    for letter, word, offsets in senses:
        synset = synsets[letter, offsets[0]]
        gloss = shortened(synset.gloss)
        fits = re.fullmatch("[a-z]{3,12}", word) and re.fullmatch(r"[a-z ,'-]{8,80}", gloss)
        is_name = any(symbol == "@i" for symbol, *_ in synset.pointers)
        if fits and not is_name and word not in marked and not is_rude(word, gloss, synset.gloss.lower()):
            yield f"{word} {letter}: {gloss}"


def is_rude(word: str, gloss: str, whole_gloss: str) -> bool:
    """Tell whether a class should not read this entry, as far as patterns can tell."""
    return bool(SAYS_SO.search(whole_gloss) or RUDE_WORD.search(word) or SEXUAL.search(f"{word} {gloss}"))


def is_marked(word: str, synset: Synset, synsets: dict[tuple[str, str], Synset]) -> bool:
    """Tell whether a pointer calls the word's use in this sense offensive."""
    for symbol, target, ends in synset.pointers:
        if symbol == ";u" and OFFENSIVE_USAGES & set(synsets["n", target].words):
            number = int(ends[:2], 16)  # which of the words the pointer belongs to; 0 for all of them
            if number == 0 or synset.words[number - 1] == word:
                return True
    return False


def shortened(gloss: str) -> str:
    """Return a gloss up to its first semicolon, in small letters, without what is in parentheses."""
    return " ".join(re.sub(r"\([^)]*\)", "", gloss.split(";")[0]).lower().split())


def read_synsets(folder: Path, letter: str) -> Iterator[tuple[str, Synset]]:
    """Yield the offset and the synset of each line of a data file."""
    for line in _lines(folder / f"data.{FILES[letter]}"):
        fields, _, gloss = line.partition("|")
        offset, _, _, n_words, *rest = fields.split()
        n = int(n_words, 16)
        words = [re.sub(r"\(.*", "", word).lower() for word in rest[: 2 * n : 2]]
        n_pointers, *rest = rest[2 * n :]
        pointers = [tuple(rest[4 * i + j] for j in (0, 1, 3)) for i in range(int(n_pointers))]
        yield offset, Synset(words, pointers, gloss.strip())


def read_index(folder: Path, letter: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each word with the offsets of its senses, the most frequent first."""
    for line in _lines(folder / f"index.{FILES[letter]}"):
        word, _, _, n_pointers, *rest = line.split()
        yield word, rest[int(n_pointers) + 2 :]


def _lines(path: Path) -> Iterable[str]:
    """The lines of a file of WordNet, without those of the license, which begin with two spaces."""
    return (line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("  "))


if __name__ == "__main__":
    main(*sys.argv[1:])
