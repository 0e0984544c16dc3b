"""Chapter 9: the page's translator has the same output and the same attention weights as the book's."""

import base64
import json
from types import SimpleNamespace

import numpy as np
import pytest
from docutils.core import publish_doctree
from docutils.parsers.rst import directives

from autograder.layout import REPO
from book.extensions import explorers
from solutions import numbers
from solutions.decoding import greedy_decode
from solutions.logarithms import log_softmax
from solutions.model import cross_attention_weights, decode, encode
from solutions.parameters import load, map_tree, save
from solutions.translator import translate
from tests.book.extensions.explorer import STATUS, press_button, reads_well

pytestmark = pytest.mark.book

N_HEADS, LONGEST = 4, 20
PARAMS = load(REPO / "chapters" / "translator.npz")
# The page computes with these.
HALF_PRECISION = map_tree(lambda array: array.astype(np.float16).astype(np.float64), PARAMS)
MAPS = """[...document.querySelectorAll('.explorer-map')].map(
    table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent)))"""
BARS = """[...document.querySelectorAll('.explorer-stage > div:nth-child(2) tr')].map(
    row => [...row.cells].slice(0, 2).map(cell => cell.textContent))"""


def silenced(heads):
    """Return the parameters, with zeros in the rows of the output projection that belong to these heads."""
    params = map_tree(np.copy, HALF_PRECISION)
    rows = params["decoder"][0]["cross_attention"]["w_output"].reshape(N_HEADS, -1, 32)
    rows[list(heads)] = 0
    return params


def written_for(number, struck=(), heads=()):
    """Run the model of the book. Return source, tokens, logits and the weights of the cross-attention."""
    src, _ = numbers.batch([number])
    src[0, list(struck)] = numbers.PAD
    params = silenced(heads)
    tokens = greedy_decode(params, src, N_HEADS, max_length=LONGEST)
    memory, _ = encode(params, src, N_HEADS)
    before = np.concatenate([[[numbers.BOS]], tokens[:, :-1]], axis=1)
    logits, cache = decode(params, before, memory, src, N_HEADS)
    return src[0], tokens[0], logits[0], cross_attention_weights(cache)[0, 0]


def type_number(tab, text):
    tab.evaluate(f"""(input => {{ input.value = "{text}"; input.dispatchEvent(new Event("input")) }})(
        document.querySelector('.explorer input[type=number]'))""")


def press_toggle(tab, row, which):
    """Return the button that removes a word (row 0) or a head (row 1)."""
    tab.evaluate(f"document.querySelectorAll('.explorer [role=group]')[{row}].children[{which}].click()")


def translates(tab, number, upto=None, struck=(), heads=()):
    """Check that the page shows what the model of the book computes. Return the sentence for screen readers."""
    _, tokens, logits, weights = written_for(number, struck, heads)
    upto = upto or len(tokens)
    words = [numbers.VOCABULARY[token] for token in tokens[:upto]]
    maps = [
        [[f"head {head}{', silent' if head in heads else ''}", *numbers.english(number)]]
        + [[word, *(f"{weight:.2f}" for weight in row)] for word, row in zip(words, head_weights, strict=False)]
        for head, head_weights in enumerate(weights)
    ]
    assert tab.evaluate(MAPS) == maps
    probabilities = np.exp(log_softmax(logits[upto - 1]))
    likeliest = [[numbers.VOCABULARY[i], f"{probabilities[i]:.2f}"] for i in np.argsort(-probabilities)[:5]]
    assert tab.evaluate(BARS) == [[f"word {upto}", "probability"], *likeliest]
    return tab.evaluate(STATUS)


def test_the_page_s_forward_pass_is_the_book_s(opened):
    tab = opened("09_training")
    cases = [(245,), (77_777,), (0,), (245, [1]), (245, [], [0]), (77_777, [0, 3], [1, 3]), (245, [0, 1, 2, 3])]
    cases += [(27_345, [], [0, 1, 2])]  # the translation of this number never ends
    expected = [written_for(*case) for case in cases]
    calls = [
        [src.tolist(), (src != numbers.PAD).tolist(), case[2] if len(case) > 2 else []]
        for case, (src, *_) in zip(cases, expected, strict=True)
    ]
    results = tab.evaluate(f"""(params => {json.dumps(calls)}.map(([source, kept, silent]) => Model.greedy(
        params, source, kept, {N_HEADS}, new Set(silent), {{bos: 1, eos: 2, longest: {LONGEST}}})))(
        Model.read(JSON.parse(document.querySelector(".explorer script").textContent)))""")
    for case, page, (_, tokens, logits, weights) in zip(cases, results, expected, strict=True):
        assert page["tokens"] == tokens.tolist(), case
        np.testing.assert_allclose(page["logits"], logits, atol=1e-9, err_msg=str(case))
        np.testing.assert_allclose(page["weights"], weights, atol=1e-9, err_msg=str(case))


def test_each_word_stands_on_the_middle_of_its_column(opened):
    offsets = opened("09_training").evaluate("""[...document.querySelectorAll('.explorer-map')].flatMap(table =>
      [...table.rows[0].cells].slice(1).map((head, i) => {
        const word = document.createRange();
        word.selectNodeContents(head);
        const [text, below] = [word, table.rows[1].cells[i + 1]].map(part => part.getBoundingClientRect());
        return [Math.abs(text.left + text.right - below.left - below.right) / 2, below.top - text.bottom];
      }))""")
    aside, gaps = np.transpose(offsets)
    assert len(offsets) == N_HEADS * len(numbers.english(245)) and max(aside) < 2 and 0 <= min(gaps) <= max(gaps) < 10


def test_the_page_spells_numbers_and_translates_them(opened):
    tab = opened("09_training")
    some = [*range(120), 200, 312, 999, 1000, 1001, 1100, 17_000, 21_000, 66_616, 70_077, 99_999]
    shown = tab.evaluate(f"""{some}.map(number => {{
        const input = document.querySelector('.explorer input[type=number]');
        input.value = number;
        input.dispatchEvent(new Event("input"));
        const words = document.querySelector('.explorer [role=group]').querySelectorAll("button");
        return [[...words].map(word => word.textContent), {STATUS}];
    }})""")
    tokens, _ = translate(PARAMS, some)
    for number, row, (english, sentence) in zip(some, tokens, shown, strict=True):
        assert english == numbers.english(number)
        assert numbers.words(row) == " ".join(numbers.german(number))
        assert sentence == f"{number}: {numbers.words(row)}. That is right."


def test_a_word_and_a_head_can_be_removed(opened):
    tab = opened("09_training")
    type_number(tab, 245)
    assert translates(tab, 245) == "245: zwei hundert fünf und vier zig. That is right."
    press_toggle(tab, 0, 3)
    right = "The right translation is zwei hundert fünf und vier zig."
    assert translates(tab, 245, struck=[3]) == f"245: zwei hundert vier zig. {right}"
    press_toggle(tab, 0, 3)
    press_toggle(tab, 1, 3)
    assert translates(tab, 245, heads=[3]) == f"245: zwei hundert fünf. {right}"
    press_toggle(tab, 1, 3)
    press_toggle(tab, 1, 2)
    assert translates(tab, 245, heads=[2]) == "245: zwei hundert fünf und vier zig. That is right."
    press_toggle(tab, 0, 0)
    translates(tab, 245, struck=[0], heads=[2])
    assert reads_well(tab)
    type_number(tab, 27_345)  # the removed word belonged to the other number
    press_toggle(tab, 1, 0)
    press_toggle(tab, 1, 1)
    assert " und … and no end. The right translation is " in translates(tab, 27_345, heads=[0, 1, 2])
    for head in (0, 1, 2):
        press_toggle(tab, 1, head)
    assert translates(tab, 27_345).endswith("That is right.")
    assert not tab.exceptions()


def test_the_keyboard_steps_through_decoding(opened):
    tab = opened("09_training")
    type_number(tab, 45)
    tab.evaluate("document.querySelectorAll('.explorer-controls > .explorer-presets button')[5].focus()")
    assert tab.evaluate("document.activeElement.textContent") == "Next"
    moves = (("ArrowLeft", 4), ("Home", 1), ("ArrowLeft", 1), ("Enter", 2), ("ArrowRight", 3))
    for key, upto in moves:
        tab.press(key)
        words = " ".join(["fünf", "und", "vier", "zig"][:upto])
        assert translates(tab, 45, upto) == f"45: {words} …"
    tab.evaluate("document.querySelectorAll('.explorer [role=group]')[1].children[0].focus()")
    tab.press("Enter")  # this removes a head, and the step stays the same
    assert translates(tab, 45, 3, heads=[0]) == "45: fünf und vier …"
    assert tab.evaluate("document.activeElement.ariaPressed") == "true"
    tab.press("Enter")
    type_number(tab, 21)  # a new number is shown from its last step
    assert translates(tab, 21) == "21: ein und zwan zig. That is right."
    press_button(tab, "Back")
    press_button(tab, "Back")
    assert translates(tab, 21, 3) == "21: ein und zwan …"
    press_button(tab, "All")
    assert translates(tab, 21) == "21: ein und zwan zig. That is right."
    groups = "[...document.querySelectorAll('.explorer [role=group]')].map(group => group.ariaLabel)"
    assert tab.evaluate(groups) == ["Strike out", "Silence"]


def test_after_a_number_that_the_model_does_not_know_the_last_translation_stays(opened):
    tab = opened("09_training")
    type_number(tab, 21)
    height = tab.evaluate("document.querySelector('.explorer').offsetHeight")
    for text in ("100000", "-1", "1.5", ""):
        type_number(tab, text)
        refused = "The model has learnt the whole numbers from 0 to 99,999. What you see still belongs to 21."
        assert translates(tab, 21) == refused
        assert tab.evaluate("document.querySelector('.explorer-tables').checkVisibility()")
        assert abs(tab.evaluate("document.querySelector('.explorer').offsetHeight") - height) < 60
    press_toggle(tab, 1, 0)  # this shows the last translation without one head
    assert translates(tab, 21, heads=[0]).startswith("21: ")
    press_toggle(tab, 1, 0)
    type_number(tab, 7)
    assert translates(tab, 7) == "7: sieben. That is right."


def test_half_precision_is_enough_for_the_translator():
    assert translate(HALF_PRECISION, np.arange(1000))[1] == 1


MODEL = """
.. explorer:: translator
   :model: small.npz

   Type a number.
"""


def with_model(folder):
    """Return the document that docutils makes of MODEL, with the files of a folder."""
    directives.register_directive("explorer", explorers.Explorer)
    environment = SimpleNamespace(
        relfn2path=lambda name: (name, str(folder / name)), note_dependency=lambda name: noted.append(name)
    )
    noted = []
    return publish_doctree(MODEL, settings_overrides={"report_level": 5, "env": environment}), noted


def test_a_model_is_included_in_half_precision_and_a_missing_file_is_an_error(tmp_path):
    page, _ = with_model(tmp_path)
    assert "cannot read 'small.npz'" in page.astext()
    (tmp_path / "small.npz").write_bytes(b"PK\x03\x04 and no more")
    page, _ = with_model(tmp_path)
    assert "cannot read 'small.npz'" in page.astext()
    save(tmp_path / "small.npz", {"embeddings": {"shared": np.array([[1.0, -0.1]])}, "gain": np.array([3e-6])})
    page, noted = with_model(tmp_path)
    [node] = page.findall(explorers.explorer)
    assert node["model"]["shapes"] == {"embeddings.shared": (1, 2), "gain": (1,)}
    values = np.frombuffer(base64.b64decode(node["model"]["base64"]), "<f2")
    np.testing.assert_array_equal(values, np.array([1.0, -0.1, 3e-6], np.float16))
    assert noted == ["small.npz"]
