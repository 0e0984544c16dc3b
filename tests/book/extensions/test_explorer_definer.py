"""Chapter 12: the page defines words with the model of its file, as the functions of the book do."""

import base64
import io
import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest

from autograder.chapter.chapter import read_chapter
from autograder.layout import REPO
from book.explorer_data import N_OTHERS, STACK_BITS, entries_of, parameters_of, six_bits
from solutions.attention import softmax
from solutions.definer import definer_forward
from solutions.definer_parameters import SIZES, fresh_definer
from solutions.definitions import END, load_entries, load_merges, vocabulary_of
from solutions.dictionary import text_tokens
from solutions.language_model import stack_forward
from solutions.logarithms import log_softmax
from solutions.page_model import N_HEADS, main, quantised, restored
from solutions.parameters import flatten, load, map_tree, save, unflatten
from solutions.project import top_p
from solutions.pronunciations import BOS, EOS, SEP
from solutions.pronunciations import VOCABULARY as LETTERS_AND_SOUNDS
from tests.book.extensions.explorer import STATUS, built_explorer, move, press_button, reads_well
from tests.choosing import thinned

pytestmark = pytest.mark.book

ENTRIES, STACK = REPO / "chapters" / "definitions.npz", REPO / "chapters" / "language_model.npz"
EXPLORER = re.search(
    r"^::::{explorer} definer\n.*?^::::\n", read_chapter("12_dictionary").text, re.DOTALL | re.MULTILINE
)
TEXT = 60 * "A line above it.\n\n" + EXPLORER.group() + "\nA line below it.\n"
NOTICE = REPO / "chapters" / "definitions.LICENSE.txt"
PLACE = "document.querySelector('[data-explorer=definer]')"
LATER = ["definer.npz.js", "model.js", "npz.js", "definer.js", "spelling.js", "explore-definer.js"]
# Those of them that the page has run: it names them in scripts of a type that no browser runs.
RUN = f"""[...document.querySelectorAll('script[src]:not([type="text/explorer"])')].map(
    script => new URL(script.src).pathname.split("/").pop()).filter(name => {LATER}.includes(name))"""
LINES = "[...document.querySelectorAll('.explorer-status')].map(line => line.textContent)"
ROWS = """[...document.querySelectorAll('.explorer-choices tbody tr')].map(
    row => [...row.cells].map(cell => cell.textContent))"""
PARTS = {"n": "noun", "v": "verb", "a": "adjective", "r": "adverb"}
SMALL = {"vocab": 1024, "d_model": 64, "d_ff": 40, "n_layers": 2, "n_heads": 4, "n_groups": 2}
MERGES = load_merges(ENTRIES)
VOCABULARY = vocabulary_of(MERGES)


def lively(seed, sizes):
    """Return parameters before training that are larger, so that the next token depends on all earlier ones."""
    params = fresh_definer(np.random.default_rng(seed), **sizes)
    for layer in params["layers"]:
        layer["attention"]["w_output"] *= 20
    return params | {"table": 10 * params["table"]}


PARAMS = lively(3, SMALL)
IN_PAGE = map_tree(lambda array: array.astype(np.float64), restored(quantised(PARAMS, 4, 8), PARAMS))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with the file of a small model, as the book's script makes it."""
    folder = tmp_path_factory.mktemp("small_model")
    save(folder / "weights.npz", PARAMS)
    main(folder / "weights.npz", ENTRIES, folder / "definer.npz")
    return folder


@pytest.fixture(scope="module")
def url(tmp_path_factory, folder):
    """Return the address of a page that has the explorer."""
    return built_explorer(tmp_path_factory.mktemp("definer"), TEXT, folder / "definer.npz", ENTRIES, STACK, NOTICE)


BROWSERS = thinned(["chromium_browser", "firefox"], ["chromium_browser"], "the same in a second browser")


@pytest.fixture(scope="module", params=BROWSERS)
def tab(request, url):
    """Return a tab of each browser in turn, with the explorer, which it has loaded."""
    tab = request.getfixturevalue(request.param)
    tab.open(url)
    tab.scroll_to(PLACE)
    tab.wait(f"!!{PLACE}.querySelector('table')")
    return tab


def numbers(text):
    return [VOCABULARY.index(token) for token in text_tokens(text, MERGES)]


def logits_of(params, tokens):
    return definer_forward(params, np.array(tokens), N_HEADS)[0]


def written(params, word, part, p, temperature, place):
    """Return the tokens of a gloss if every draw is at one place, and the scores before each of them."""
    tokens = begun = [END, *numbers(f"{word} {part}:")]
    while len(tokens) < len(begun) + 40 and (tokens == begun or tokens[-1] != END):
        scores = logits_of(params, tokens)[-1]
        tokens = [*tokens, int((top_p(scores, p, temperature).cumsum() <= place).sum())]
    return tokens[len(begun) :], logits_of(params, tokens[:-1])[len(begun) - 1 :]


def losses(params, word, part, gloss):
    """Return the loss of each token of a gloss after another word."""
    begun = [END, *numbers(f"{word} {part}:")]
    shares = log_softmax(logits_of(params, [*begun, *gloss[:-1]])[len(begun) - 1 :])
    return -shares[np.arange(len(gloss)), gloss]


def type_word(tab, text):
    tab.evaluate(f"""(input => {{ input.value = {json.dumps(text)}; input.dispatchEvent(new Event("input")) }})(
        document.querySelector('.explorer input[type=text]'))""")


def choose_part(tab, part):
    tab.evaluate(f"""(select => {{ select.selectedIndex = {[*PARTS].index(part)};
        select.dispatchEvent(new Event("change")) }})(document.querySelector('.explorer select'))""")


def rows_of(tab):
    """Return the table, once the other words are compared."""
    tab.wait(f"{ROWS}.every(row => row[4] !== '…')")
    return tab.evaluate(ROWS)


def rounds_to(shown, value):
    return abs(float(shown) - value) < 0.00501


def defines(tab, params, word, part, p, temperature, place):
    """Check every number that the page shows for a word."""
    gloss, scores = written(params, word, part, p, temperature, place)
    shares = softmax(scores)
    name = {END: "end"} | {i: VOCABULARY[i].replace(" ", "·", 1) for i in range(2, len(VOCABULARY))}
    others = [losses(params, other, part, gloss) for other in entries_of(ENTRIES)["others"][part]]
    rows = rows_of(tab)
    assert [row[0] for row in rows] == [name.get(token, "<pad>") for token in gloss]
    for row, token, likely, other in zip(rows, gloss, shares, np.exp(-np.mean(others, axis=0)), strict=True):
        second = next(i for i in np.argsort(-likely, kind="stable") if i != token)
        assert rounds_to(row[1], likely[token]) and rounds_to(row[4], other)
        assert row[3].split()[0] == name.get(second, "<pad>").strip() and rounds_to(row[3].split()[-1], likely[second])
    own, another = losses(params, word, part, gloss).mean(), np.mean(others)
    said, worth, _ = tab.evaluate(LINES)
    text = "".join(VOCABULARY[token] for token in gloss if token != END).strip()
    assert said.startswith(f"{word} (") and f"), {PARTS[part]}: {text}" in said
    shown = [float(part.replace("−", "-")) for part in worth.rstrip(".").split() if part[-1].isdigit() and "." in part]
    assert all(map(rounds_to, shown, [own, another, another - own])) and len(shown) == 3
    assert f"{N_OTHERS} other {PARTS[part]}s" in worth
    return True


@pytest.fixture(autouse=True)
def fixed_places(request):
    """Let every draw of the page be at one place."""
    if "tab" in request.fixturenames:
        request.getfixturevalue("tab").evaluate("Math.random = () => 0.3")


def set_page(tab, word="choir", part="n", p=0.9, temperature=0.7):
    type_word(tab, word)
    choose_part(tab, part)
    move(tab, 0, temperature)
    move(tab, 1, p)
    press_button(tab, "Define it again")


def test_tokens_and_scores_are_those_of_the_book(tab):
    texts = ["gloamer n:", "choir n: a chorus that sings", "x-ray v: ,'--' it's a-b", "these", "antiquated a: "]
    calls = tab.evaluate(f"""(({{ entries, shapes, bits, base64 }}) => {{
        const params = Model.read({{ shapes, bits, base64 }});
        const {{ numbered, vocabulary }} = Definer.tokeniser(entries.merges);
        return {{ vocabulary, texts: {json.dumps(texts)}.map(text => {{
            const tokens = numbered(text);
            const {{ scores }} = Definer.continued(params, Definer.begun(params, []), tokens.length + 1,
                (_, t) => tokens[t] ?? 0);
            return {{ tokens, scores }};
        }}) }};
    }})(Explorers.loaded["definer.npz"])""")
    assert calls["vocabulary"] == VOCABULARY
    for text, call in zip(texts, calls["texts"], strict=True):
        assert call["tokens"] == numbers(text)
        np.testing.assert_allclose(call["scores"], logits_of(IN_PAGE, [END, *numbers(text)]), atol=1e-9)


@pytest.mark.parametrize(
    "chosen",
    thinned(
        [("gloamer", "n", 0.9, 0.7), ("drelk", "v", 0.5, 1.5), ("fey", "a", 1, 0.1), ("snorfleslyly", "r", 0.9, 2)],
        [("gloamer", "n", 0.9, 0.7), ("drelk", "v", 0.5, 1.5)],
        "other choices of the reader",
    ),
)
def test_each_token_is_drawn_as_in_the_book_and_compared_with_other_words(tab, chosen):
    set_page(tab, *chosen)
    assert defines(tab, IN_PAGE, *chosen, 0.3)
    assert not tab.exceptions()


def test_a_slider_changes_the_definition_and_a_button_draws_another_one(tab):
    set_page(tab)
    tab.evaluate("Math.random = () => 0.8")
    move(tab, 0, 1.5)
    assert defines(tab, IN_PAGE, "choir", "n", 0.9, 1.5, 0.3), "the places of the draws stay"
    press_button(tab, "Define it again")
    assert defines(tab, IN_PAGE, "choir", "n", 0.9, 1.5, 0.8)


def said_by_stack(word):
    """Return the likeliest sounds that the stack in the page writes for a word."""
    shipped = load(STACK)
    params = restored(quantised(shipped, STACK_BITS), shipped)
    begun = tokens = [BOS, *map(LETTERS_AND_SOUNDS.index, word), SEP]
    while tokens[-1] != EOS and len(tokens) < len(begun) + 26:
        tokens = [*tokens, int(stack_forward(params, np.array(tokens), 4)[0][-1].argmax())]
    return " ".join(LETTERS_AND_SOUNDS[token] for token in tokens[len(begun) :] if token != EOS)


def test_the_stack_of_chapter_10_pronounces_a_word_and_invents_one(tab):
    set_page(tab)
    for word in ("knight", "Gloamer", " Zoë "):
        type_word(tab, word)
        plain = word.strip().lower().replace("ë", "e")
        assert tab.evaluate(STATUS).startswith(f"{plain} ({said_by_stack(plain)}), noun: ")
    tab.evaluate("(seed => { Math.random = () => (seed = (16807 * seed) % 2147483647) / 2147483647 })(7)")
    words = set()
    for _ in range(4):
        press_button(tab, "Invent a word")
        words.add(tab.evaluate("document.querySelector('.explorer input[type=text]').value"))
        assert tab.evaluate(STATUS).split()[0] in words
    assert len(words) > 1 and all(word.isalpha() and 3 <= len(word) <= 12 for word in words)
    assert not tab.exceptions()


def test_after_what_is_not_a_word_the_last_one_stays(tab):
    set_page(tab, "choir")
    shown = rows_of(tab)
    for text in ("", "ox", "two words", "x1", "日本", "a" * 13):
        type_word(tab, text)
        refused = "The model reads one word of 3 to 12 letters from a to z. What you see still belongs to choir."
        assert tab.evaluate(STATUS) == refused
        assert rows_of(tab) == shown
    type_word(tab, "cat")
    assert tab.evaluate(STATUS).startswith("cat (K AE T), noun: ")


def choose(tab, raw):
    """Choose a file, as the browser's dialogue does, and return what the page says about it."""
    tab.evaluate(f"""(async input => {{
        const bytes = Uint8Array.from(atob("{base64.b64encode(raw).decode()}"), byte => byte.charCodeAt(0));
        const files = new DataTransfer();
        files.items.add(new File([bytes], "mine.npz"));
        document.querySelectorAll('.explorer-status')[2].textContent = "";
        input.files = files.files;
        input.dispatchEvent(new Event("change"));
    }})(document.querySelector('.explorer input[type=file]'))""")
    tab.wait(f"{LINES}[2] !== ''")
    return tab.evaluate(LINES)[2]


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)
    return buffer.getvalue()


def test_a_reader_s_own_weights_define_until_the_book_s_are_asked_for(tab):
    mine = lively(8, SIZES)
    vector = flatten(mine).astype(np.float16)
    set_page(tab)
    assert choose(tab, npz(weights=vector)) == "mine.npz is in use."
    params = unflatten(vector.astype(np.float64), mine)
    assert defines(tab, params, "choir", "n", 0.9, 0.7, 0.3)
    press_button(tab, "The book’s weights")
    assert defines(tab, IN_PAGE, "choir", "n", 0.9, 0.7, 0.3)
    assert tab.evaluate("document.activeElement.type") == "file"


def test_a_file_of_another_shape_is_refused_in_words(tab):
    set_page(tab)
    shown = rows_of(tab)
    for raw, reason in (
        (npz(weights=np.zeros(195_007, np.float16)), "195,008 numbers in float16, and it is not"),
        (npz(weights=np.zeros(195_008, np.float32)), "a file of weights has at most 500,000"),
        (npz(table=np.zeros(5)), "it holds no array “weights”"),
        (b"weights", "it is damaged, or not an .npz file"),
    ):
        said = choose(tab, raw)
        assert said.startswith("mine.npz cannot be used: ") and reason in said
        assert said.endswith(" Choose the weights.npz that hand_in made.")
        assert rows_of(tab) == shown
    assert not tab.exceptions()


@pytest.mark.parametrize("width", [1280, 390])
def test_it_fits_and_what_is_below_it_never_moves(tab, url, width):
    tab.open(url, width=width)
    height = f"{PLACE}.offsetHeight"
    before = tab.evaluate(height)
    assert tab.evaluate(RUN) == [], "not before the reader is near"
    tab.scroll_to(PLACE)
    tab.wait(f"!!{PLACE}.querySelector('table')")
    tab.evaluate("Math.random = () => 0.3")
    rows_of(tab)
    after = tab.evaluate(height)
    assert abs(after - before) < 60
    for temperature in (0.1, 2):
        move(tab, 0, temperature)
        rows_of(tab)
        assert tab.evaluate(height) == after
    assert tab.evaluate(f"{PLACE}.scrollWidth <= {PLACE}.clientWidth")
    scroll = "document.querySelector('.explorer-scroll')"
    assert tab.evaluate(f"{scroll}.scrollWidth <= {scroll}.clientWidth")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert reads_well(tab)
    assert tab.evaluate(RUN) == LATER
    assert not tab.exceptions()


def test_the_words_to_compare_with_are_known_ones_of_their_part_of_speech():
    known = {line.split(":")[0] for line in load_entries(ENTRIES)["known"]}
    others = entries_of(ENTRIES)["others"]
    assert {part: len(set(words)) for part, words in others.items()} == dict.fromkeys("nvar", N_OTHERS)
    assert all(f"{word} {part}" in known for part, words in others.items() for word in words)


def test_the_notice_is_in_the_script_with_the_model(url):
    script = Path(unquote(urlsplit(url).path)).parents[1] / "_static" / "definer.npz.js"
    with np.load(ENTRIES) as file:
        assert script.read_text(encoding="utf-8").startswith(f"/*\n{file['notice']}\n*/\n")


def test_the_shipped_model_and_the_stack_are_at_most_a_megabyte():
    parts = [parameters_of(REPO / "chapters" / "definer.npz"), entries_of(ENTRIES), six_bits(STACK)]
    assert len(json.dumps(parts)) <= 1_000_000
