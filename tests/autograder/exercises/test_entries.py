"""The entries of chapter 12: what WordNet's files give, what the filters leave out, and the notice with each copy."""

from collections import Counter

import numpy as np
import pytest

from autograder.chapter.chapter import read_chapter
from autograder.exercises.dictionary.make_entries import SHIPPED, WITHHELD, entries, gloss_of, is_rude
from autograder.release import bundle
from solutions.definitions import CHARACTERS, load_entries, load_merges, pieces
from solutions.dictionary import merges_of
from tests.choosing import thinned

pytestmark = pytest.mark.autograder

NOTICE = SHIPPED.with_suffix(".LICENSE.txt")
# Offset, file number, part of speech, number of words, words, number of pointers, pointers, gloss: see wndb(5WN).
DATA = {
    "noun": (
        '00000001 04 n 01 choir 0 001 @ 00000009 n 0000 | a chorus that sings; "the choir sang"',
        "00000002 04 n 02 paris 0 capital 0 001 @i 00000009 n 0000 | the largest city of france",
        "00000003 04 n 02 blot 0 smear 0 001 ;u 00000007 n 0201 | a rude name for a person",
        "00000004 04 n 01 boor 0 000 | (ethnic slur) a person of another country",
        "00000005 04 n 01 smear 0 000 | a thin coat of something",
        "00000006 04 n 01 tiny 0 000 | a b",
        "00000007 04 n 01 disparagement 0 000 | the act of speaking ill of someone",
        "00000008 04 n 02 Grove 0 wood 0 000 | many trees (in a small place)",
    ),
    "verb": ("00000001 04 v 01 sing 0 000 01 + 02 00 | make music with the voice",),
    "adj": ("00000001 04 a 01 dim(p) 0 000 | lacking in light",),
    "adv": (),
}
INDEX = {
    "noun": (
        "choir n 1 1 @ 1 0 00000001",
        "paris n 1 1 @ 1 0 00000002",
        "capital n 2 1 @ 2 0 00000005 00000002",
        "blot n 1 1 ;u 1 0 00000003",
        "smear n 2 1 ;u 2 0 00000005 00000003",
        "boor n 1 0 1 0 00000004",
        "tiny n 1 0 1 0 00000006",
        "grove n 1 0 1 0 00000008",
        "two_words n 1 0 1 0 00000001",
    ),
    "verb": ("sing v 1 0 1 0 00000001",),
    "adj": ("dim a 1 0 1 0 00000001",),
    "adv": (),
}


@pytest.fixture(scope="module")
def parts():
    return load_entries(SHIPPED) | load_entries(WITHHELD)


def test_the_first_sense_of_each_fitting_word_is_an_entry(tmp_path):
    for kind, lines in (("data", DATA), ("index", INDEX)):
        for name, text in lines.items():
            (tmp_path / f"{kind}.{name}").write_text("\n".join(["  1 a license", *text, ""]), encoding="utf-8")
    assert list(entries(tmp_path)) == [
        "choir n: a chorus that sings",
        "capital n: a thin coat of something",
        "blot n: a rude name for a person",
        "grove n: many trees",
        "sing v: make music with the voice",
        "dim a: lacking in light",
    ], "no city, no second sense; smear is marked, boor is said to be a slur, tiny has too short a gloss"


@pytest.mark.parametrize(
    ("word", "gloss", "whole"),
    [
        ("moron", "a person of little sense", ""),
        ("blot", "sexual desire", ""),
        ("blot", "a person", "(derogatory) a person"),
        ("blot", "a person", "a person; an offensive term for a neighbour"),
    ],
)
def test_an_entry_that_a_class_should_not_read_is_rude(word, gloss, whole):
    assert is_rude(word, gloss, whole or gloss)


@pytest.mark.parametrize("word", ["shittim", "niggard", "arsenal", "cocktail", "sextet", "pricking", "farthing"])
def test_a_word_that_only_looks_rude_is_not(word):
    assert not is_rude(word, "something harmless", "something harmless")


def test_no_entry_of_either_file_is_rude(parts):
    lines = [line for part in parts.values() for line in part]
    assert len(lines) == len(set(lines)) == 62_310
    assert [line for line in lines if is_rude(line.split(" ", 1)[0], gloss_of(line), gloss_of(line))] == []


def test_no_part_shares_a_gloss_with_another(parts):
    known, held_out, withheld = ({*map(gloss_of, parts[name])} for name in ("known", "held_out", "withheld"))
    assert not known & held_out and not known & withheld and not held_out & withheld
    assert [len(parts[name]) for name in ("held_out", "withheld")] == [1_500, 3_000]


def test_few_entries_name_a_person(parts):
    born = [line for line in parts["known"] if "born in" in line]
    assert len(born) < 30, born


def test_entries_have_the_characters_of_the_vocabulary(parts):
    assert {*"".join(line for part in parts.values() for line in part)} == {*CHARACTERS}


def test_the_notice_goes_with_every_copy_of_the_entries():
    notice = NOTICE.read_text(encoding="utf-8")
    assert "and that the same appear on ALL copies of the software, database" in notice
    assert "THIS SOFTWARE AND DATABASE IS PROVIDED" in notice
    for path in (SHIPPED, WITHHELD):
        with np.load(path, allow_pickle=False) as file:
            assert str(file["notice"]) == notice


def test_the_chapter_brings_its_entries_with_their_notice_and_no_solution_of_its_own():
    shipped = bundle.files(read_chapter("12_dictionary"), [])
    assert shipped[SHIPPED.name] == SHIPPED.read_bytes() and shipped[NOTICE.name] == NOTICE.read_bytes()
    assert not {"solutions/dictionary.py", "solutions/definer.py"} & set(shipped)
    assert WITHHELD.read_bytes() not in shipped.values()
    assert "pronunciations.LICENSE.txt" in bundle.files(read_chapter("10_project"), [])


@pytest.mark.parametrize("n_merges", thinned([30, 991], [30], "all of them take ten seconds"))
def test_the_stored_merges_are_those_of_the_entries(parts, n_merges):
    counts = Counter(piece for line in parts["known"] for piece in pieces(line))
    assert merges_of(counts, n_merges) == load_merges(SHIPPED)[:n_merges]
