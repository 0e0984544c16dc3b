"""Chapter 10: the page pronounces words as the book's model does, and also with a reader's own file of weights."""

import base64
import io
import json

import numpy as np
import pytest

from autograder.layout import REPO
from book.explorer_data import N_WORDS, parameters_of, unseen_words
from solutions.letters_to_sounds import N_HEADS, fresh_model, transcribe
from solutions.logarithms import log_softmax
from solutions.model import cross_attention_weights, decode, encode
from solutions.parameters import flatten, unflatten
from solutions.pronunciations import BOS, EOS, VOCABULARY, load_words, spelled
from solutions.pronunciations import encode as tokens_of
from tests.book.extensions.explorer import STATUS, UNNAMED, opened_explorer, press_button, reads_well
from tests.choosing import thinned

pytestmark = pytest.mark.book

WEIGHTS, WORDS = REPO / "chapters" / "book_weights.npz", REPO / "chapters" / "pronunciations.npz"
BACK = REPO / "chapters" / "spelling_weights.npz"
NAMES = [VOCABULARY[token] if token != EOS else "end" for token in range(len(VOCABULARY))]
ROWS = """(selector => [...document.querySelectorAll(selector)].map(
    row => [...row.cells].map(cell => cell.textContent)))"""
LINES = "[...document.querySelectorAll('.explorer-status')].map(line => line.textContent)"
TEXT = """:::{explorer} pronouncer
:model: book_weights.npz
:back: spelling_weights.npz
:words: pronunciations.npz

Type a name.

A caption.
:::"""


def vector_of(path=WEIGHTS):
    with np.load(path) as file:
        return file["weights"]


def params_of(vector):
    return unflatten(vector.astype(np.float32), fresh_model(0))


OF_BOOK = params_of(vector_of())


@pytest.fixture(scope="module")
def tab(tmp_path_factory, browser):
    """Return the tab with a page that has the explorer."""
    return opened_explorer(tmp_path_factory.mktemp("pronouncer"), browser, TEXT, WEIGHTS, WORDS, BACK)


def type_word(tab, text):
    tab.evaluate(f"""(input => {{ input.value = {json.dumps(text)}; input.dispatchEvent(new Event("input")) }})(
        document.querySelector('.explorer input[type=text]'))""")


def choose(tab, raw, name="weights.npz"):
    """Choose a file, as the browser's dialogue does, and return what the page says about it."""
    tab.evaluate(f"""(async input => {{
        const bytes = Uint8Array.from(atob("{base64.b64encode(raw).decode()}"), byte => byte.charCodeAt(0));
        const files = new DataTransfer();
        files.items.add(new File([bytes], "{name}"));
        document.querySelectorAll('.explorer-status')[1].textContent = "";
        input.files = files.files;
        input.dispatchEvent(new Event("change"));
    }})(document.querySelector('.explorer input[type=file]'))""")
    tab.wait(f"{LINES}[1] !== ''")
    return tab.evaluate(LINES)[1]


def npz(save=np.savez, **arrays):
    buffer = io.BytesIO()
    save(buffer, **arrays)
    return buffer.getvalue()


def pronounced(params, word):
    """Run the book's model. Return the tokens, their probabilities (T, vocab) and the last layer's weights."""
    letters = tokens_of([word])
    tokens = transcribe(params, letters)
    memory, _ = encode(params, letters.astype(int), N_HEADS)
    before = np.concatenate([[[BOS]], tokens[:, :-1]], axis=1)
    logits, cache = decode(params, before, memory, letters.astype(int), N_HEADS)
    return tokens[0], np.exp(log_softmax(logits[0])), cross_attention_weights(cache)[-1, 0]


def rounds_to(shown, value, digits):
    """Whether a number is shown with this many digits; float32 may round the other way."""
    return abs(float(shown) - value) < 0.5001 / 10**digits + 1e-4


def shows(tab, params, word):
    """Check tokens, probabilities and the averaged map of a word on the page."""
    tokens, shares, weights = pronounced(params, word)
    choices = tab.evaluate(f"{ROWS}('.explorer-choices tbody tr')")
    assert [row[0] for row in choices] == [NAMES[token] for token in tokens]
    for row, token, likely in zip(choices, tokens, shares, strict=True):
        second = np.argsort(-likely, kind="stable")[1]
        assert rounds_to(row[2], likely[token], 2)
        name, share = row[4].split()
        assert name == NAMES[second] and rounds_to(share, likely[second], 2)
    shows_map(tab, word, tokens, weights.mean(axis=0))
    return True


def shows_map(tab, word, tokens, weights):
    head, *rows = tab.evaluate(f"{ROWS}('.explorer-map tr')")
    assert head == ["percent", *word]
    assert [row[0] for row in rows] == [NAMES[token] for token in tokens]
    for row, expected in zip(rows, weights, strict=True):
        assert all(map(rounds_to, row[1:], 100 * expected, [0] * len(word)))


def test_a_word_gets_its_sounds_with_probabilities_and_a_map_for_each_head(tab):
    for word in ("stephanie", "knight", "a", "antidisestablish"):
        type_word(tab, word)
        assert shows(tab, OF_BOOK, word)
    type_word(tab, " Zoë ")
    assert tab.evaluate(STATUS) == f"zoe: {spelled(transcribe(OF_BOOK, tokens_of(['zoe']))[0])}."
    tokens, _, weights = pronounced(OF_BOOK, "stephanie")
    f = tokens.tolist().index(VOCABULARY.index("F"))
    assert weights.mean(axis=0)[f, 3:5].sum() > 0.9, "as the chapter says below the explorer"
    type_word(tab, "phone")
    tokens, _, weights = pronounced(OF_BOOK, "phone")
    for head in range(N_HEADS):
        tab.evaluate(f"""(select => {{ select.selectedIndex = {head + 1}; select.dispatchEvent(new Event("change")) }})(
            document.querySelectorAll('.explorer select')[1])""")
        shows_map(tab, "phone", tokens, weights[head])
    tab.evaluate("""(select => { select.selectedIndex = 0; select.dispatchEvent(new Event("change")) })(
        document.querySelectorAll('.explorer select')[1])""")
    assert tab.evaluate(UNNAMED) == 0 and reads_well(tab)
    assert not tab.exceptions()


def turn_round(tab, way):
    tab.evaluate(f"""(select => {{ select.selectedIndex = {way}; select.dispatchEvent(new Event("change")) }})(
        document.querySelector('.explorer select'))""")


def test_a_name_may_have_an_apostrophe_a_hyphen_and_foreign_letters(tab):
    for name, letters in (
        ("O’Brien", "obrien"),
        ("Anne-Marie", "annemarie"),
        ("Łukasz", "lukasz"),
        ("Strauß", "strauss"),
    ):
        type_word(tab, name)
        assert tab.evaluate(STATUS).startswith(f"{letters}: "), name


def test_the_other_model_spells_what_the_first_one_writes(tab):
    back = params_of(vector_of(BACK))
    type_word(tab, "knight")
    heard = spelled(transcribe(OF_BOOK, tokens_of(["knight"]))[0])
    turn_round(tab, 1)
    for sounds in (heard, "K W AY ER", "f ow n", "HH"):
        if sounds != heard:
            type_word(tab, sounds)
        read = sounds.upper()
        tokens = transcribe(back, tokens_of([read]))[0]
        assert tab.evaluate(STATUS) == f"{read}: {spelled(tokens)}."
        choices = tab.evaluate(f"{ROWS}('.explorer-choices tbody tr')")
        assert [row[0] for row in choices] == [NAMES[token] for token in tokens]
        assert tab.evaluate(f"{ROWS}('.explorer-map tr')")[0] == ["percent", *read.split()]
    assert not tab.evaluate("document.querySelector('.explorer input[type=file]').checkVisibility()")
    assert tab.evaluate(UNNAMED) == 0 and reads_well(tab)
    shown = tab.evaluate(f"{ROWS}('.explorer-choices tbody tr')")
    for text in ("", "knight", "N  AY?", "N " * 21):
        type_word(tab, text)
        refused = tab.evaluate(STATUS)
        assert refused.startswith("The model reads 1 to 20 sounds with spaces between: AA AE ")
        assert refused.endswith(" ZH. What you see still belongs to HH.")
        assert tab.evaluate(f"{ROWS}('.explorer-choices tbody tr')") == shown
    type_word(tab, "N AY T")
    turn_round(tab, 0)
    word = spelled(transcribe(back, tokens_of(["N AY T"]))[0])
    assert tab.evaluate(STATUS).startswith(f"{word}: ")
    assert not tab.exceptions()


def test_after_what_is_not_a_word_the_last_word_stays(tab):
    type_word(tab, "phone")
    refused = "The model reads one word of 1 to 20 letters from a to z. What you see still belongs to phone."
    for text in ("", "Mary Ann", "x1", "日本", "a" * 21):
        type_word(tab, text)
        assert tab.evaluate(STATUS) == refused
        assert shows(tab, OF_BOOK, "phone")
        assert tab.evaluate("document.querySelector('.explorer-map').checkVisibility()")
    vector = (1.5 * flatten(fresh_model(5))).astype(np.float16)
    choose(tab, npz(weights=vector))
    assert tab.evaluate(STATUS) == refused
    assert shows(tab, params_of(vector), "phone"), "with the weights that are in use now"
    press_button(tab, "The book’s weights")
    type_word(tab, "ox")
    assert tab.evaluate(STATUS).endswith(" It has learnt words of 3 to 10 letters only.")
    assert tab.evaluate("document.querySelector('.explorer-map').checkVisibility()")


@pytest.mark.thorough("more words")
def test_unseen_words_come_out_as_the_book_transcribes_them(tab):
    words = unseen_words(WORDS)
    known = {spelled(row) for row in load_words(WORDS)["known"].letters}
    assert len({word for word, _ in words} - known) == N_WORDS
    said, examples = [], {}
    for word, _ in words:
        type_word(tab, word)
        said.append(tab.evaluate(STATUS))
        examples |= {row[0]: row[1] for row in tab.evaluate(f"{ROWS}('.explorer-choices tbody tr')")}
    written = [spelled(row) for row in transcribe(OF_BOOK, tokens_of([word for word, _ in words]))]
    assert said == [f"{word}: {sounds}." for (word, _), sounds in zip(words, written, strict=True)]
    right = sum(sounds == truth for sounds, (_, truth) in zip(written, words, strict=True))
    press_button(tab, f"Test on {N_WORDS} unseen words")
    tab.wait(f"{LINES}[2] !== ''")
    assert tab.evaluate(LINES)[2] == f"The book’s model gets {right} of {N_WORDS} words right." and right > 30
    assert len(examples) > 35 and examples.pop("end") == ""
    dictionary = {
        spelled(letters): spelled(sounds).split()
        for part in load_words(WORDS).values()
        for letters, sounds in zip(*part, strict=True)
    }
    assert not [(sound, word) for sound, word in examples.items() if sound not in dictionary.get(word, [sound])]


@pytest.mark.parametrize("save", thinned([np.savez, np.savez_compressed], [np.savez], "a compressed file"))
def test_a_reader_s_own_weights_are_used_until_the_book_s_are_asked_for(tab, save):
    vector = (1.5 * flatten(fresh_model(5))).astype(np.float16)
    raw = npz(save, weights=vector, recipe=np.frombuffer(b'{"seed": 5}', np.uint8))
    type_word(tab, "phone")
    assert choose(tab, raw, "mine.npz") == "mine.npz is in use."
    assert shows(tab, params_of(vector), "phone")
    press_button(tab, "The book’s weights")
    assert shows(tab, OF_BOOK, "phone")
    assert tab.evaluate("document.activeElement.type") == "file"


VECTOR = np.zeros(237_888, np.float16)
ASKED = "“weights” should be a vector of 237,888 numbers in float16, and it is not"
WRONG = {
    "no zip file": (b"weights", "it is damaged, or not an .npz file"),
    "empty": (b"", "it is damaged, or not an .npz file"),
    "cut off": (npz(weights=VECTOR)[:-30], "it is damaged, or not an .npz file"),
    "damaged": (
        (lambda raw: raw[:200] + b"\xff" * 40 + raw[240:])(npz(np.savez_compressed, weights=VECTOR)),
        "it is damaged, or not an .npz file",
    ),
    "no weights": (npz(bias=VECTOR), "it holds no array “weights”"),
    "float32": (npz(np.savez_compressed, weights=VECTOR.astype(np.float32)), ASKED),
    "short float32": (npz(weights=VECTOR[:10].astype(np.float32)), ASKED),
    "one number less": (npz(weights=VECTOR[:-1]), ASKED),
    "a matrix": (npz(weights=VECTOR.reshape(-1, 64)), ASKED),
    "pickled": (npz(weights=np.array([None, 1], object)), ASKED),
    "NaN": (
        npz(weights=np.where(np.arange(237_888) == 7, np.nan, VECTOR).astype(np.float16)),
        "“weights” contains NaN or infinity",
    ),
    "too large": (bytes(500_001), "it has 500,001 bytes, and a file of weights has at most 500,000"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_a_wrong_file_is_refused_in_words_and_the_weights_stay(tab, kind):
    raw, reason = WRONG[kind]
    type_word(tab, "phone")
    assert choose(tab, raw) == f"weights.npz cannot be used: {reason}. Choose the weights.npz that hand_in made."
    assert shows(tab, OF_BOOK, "phone")
    assert not tab.exceptions()


def test_a_file_by_path_and_a_handed_in_vector_give_the_same_page(tmp_path):
    model = parameters_of(WEIGHTS)
    assert len(model["base64"]) * 3 / 4 <= 500_000
    numbers = np.frombuffer(base64.b64decode(model["base64"]), "<f2")
    np.testing.assert_array_equal(numbers, vector_of())
    assert list(model["shapes"])[0] == "decoder.0.attention.b_key" and model["shapes"]["embeddings.shared"] == (69, 64)
    np.savez(tmp_path / "short.npz", weights=numbers[:-1])
    with pytest.raises(ValueError, match="reshape|237"):
        parameters_of(tmp_path / "short.npz")
