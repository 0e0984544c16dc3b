"""The quantised model of chapter 12's page: what its file holds, and what comes back from it."""

import re

import numpy as np
import pytest

from autograder.chapter.chapter import read_chapter
from autograder.layout import REPO
from solutions.definer import mean_loss, token_losses
from solutions.definer_parameters import SIZES, fresh_definer
from solutions.definitions import load_entries, load_merges, numbered, padded, vocabulary_of
from solutions.dictionary import text_tokens
from solutions.page_model import (
    GROUP,
    N_HEADS,
    code_bits,
    defined,
    main,
    n_bytes,
    quantised,
    restored,
)
from solutions.parameters import count, named, save
from solutions.since import quantise_groups

pytestmark = pytest.mark.solutions

ENTRIES = REPO / "chapters" / "definitions.npz"
SHIPPED = REPO / "chapters" / "definer.npz"
SMALL = {"vocab": 1024, "d_model": 16, "d_ff": 40, "n_layers": 2, "n_heads": 4, "n_groups": 2}
PARAMS = fresh_definer(np.random.default_rng(5), **SMALL)


def test_each_number_comes_back_within_half_a_step():
    for bits in (8, 6, 4):
        arrays = quantised(PARAMS, bits)
        back = named(restored(arrays, PARAMS))
        for path, array in named(PARAMS).items():
            if array.ndim == 2:
                codes, scales = quantise_groups(array, GROUP, bits)
                np.testing.assert_array_equal(arrays[path], codes)
                assert code_bits(codes) == bits
                steps = np.repeat(scales, GROUP, axis=0)[: len(array)]
                assert (np.abs(back[path] - array) <= 0.51 * steps + 2.0**-11 * np.abs(array)).all()
            else:
                np.testing.assert_array_equal(back[path], array)


def test_the_table_may_have_more_bits_than_the_rest():
    arrays = quantised(PARAMS, 4, 8)
    bits = {path: code_bits(array) for path, array in arrays.items() if array.dtype == np.int8}
    assert bits.pop("table") == 8 and set(bits.values()) == {4}
    rest = count(PARAMS) - 1024 * 16 - 5 * 16
    vectors_and_scales = sum(array.nbytes for array in arrays.values() if array.dtype == np.float16)
    assert n_bytes(arrays) == 1024 * 16 + rest // 2 + vectors_and_scales


def test_the_command_writes_the_model_of_the_given_weights_beside_the_notice(tmp_path, capsys):
    weights, path = tmp_path / "weights.npz", tmp_path / "definer.npz"
    save(weights, PARAMS)
    main(weights, ENTRIES, path)
    with np.load(path) as file, np.load(ENTRIES) as entries:
        made = dict(file)
        assert str(made.pop("notice")) == str(entries["notice"])
    for name, array in quantised(PARAMS, 4, 8).items():
        np.testing.assert_array_equal(made.pop(name), array)
    assert not made
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"float32: {4 * count(PARAMS):,} bytes") and len(lines) == 4


@pytest.fixture(scope="module")
def shipped():
    """Return the parameters of the shipped model."""
    sizes = SIZES | {"d_model": 128, "d_ff": 320, "n_layers": 4}
    with np.load(SHIPPED, allow_pickle=False) as file:
        arrays = dict(file)
    assert str(arrays.pop("notice")) == (REPO / "chapters" / "definitions.LICENSE.txt").read_text(encoding="utf-8")
    params = fresh_definer(np.random.default_rng(0), **sizes)
    assert n_bytes(arrays) == 528_640 and count(params) == 820_352
    return restored(arrays, params)


def test_the_chapter_s_definitions_are_the_first_that_the_shipped_model_draws(shipped):
    text = read_chapter("12_dictionary").text.split("## The dictionary\n")[1]
    rows = re.findall(r"^\| (\w+ [nvar]:) \| (.+) \|$", text, re.MULTILINE)
    merges, rng = load_merges(ENTRIES), np.random.default_rng(0)
    assert len(rows) == 8
    assert [gloss for _, gloss in rows] == [defined(shipped, word, merges, rng) for word, _ in rows]


def numbers_of(texts):
    merges = load_merges(ENTRIES)
    return numbered(texts, lambda piece: text_tokens(piece, merges), vocabulary_of(merges))


@pytest.mark.thorough("a forward pass for each held-out entry")
def test_the_shipped_model_has_the_chapter_s_loss(shipped):
    texts = numbers_of(load_entries(ENTRIES)["held_out"])
    assert abs(mean_loss(shipped, texts) - 2.992) < 0.0006


@pytest.mark.thorough("two forward passes for each held-out entry")
def test_a_word_is_worth_a_third_of_a_nat(shipped):
    heads, glosses = zip(*(line.split(": ") for line in load_entries(ENTRIES)["held_out"]), strict=True)
    rng, others = np.random.default_rng(0), np.array(heads, object)
    for part in "nvar":
        places = rng.permutation([i for i, head in enumerate(heads) if head.endswith(f" {part}")])
        others[places] = others[np.roll(places, 1)]
    losses = []
    for words in (heads, others):
        texts = numbers_of([f"{word}: {gloss}" for word, gloss in zip(words, glosses, strict=True)])
        begun = [len(text) for text in numbers_of([f"{word}:" for word in words])]
        total = n_tokens = 0
        for group in np.array_split(np.argsort([len(text) for text in texts], kind="stable"), 15):
            tokens = padded([texts[i] for i in group])
            lost = token_losses(shipped, tokens, N_HEADS)
            place = np.arange(lost.shape[1])
            starts, ends = np.array([[begun[i], len(texts[i])] for i in group]).T[..., None]
            of_gloss = (place >= starts) & (place <= ends)
            total, n_tokens = total + lost[of_gloss].sum(), n_tokens + of_gloss.sum()
        losses.append(total / n_tokens)
    np.testing.assert_allclose(losses, [2.969, 3.297], atol=0.006)
