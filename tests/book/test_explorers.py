"""Explorers: they show what the chapter computes, answer to mouse and keyboard, and are silent where no script runs."""

import base64
import json
import math
from types import SimpleNamespace

import explorers
import numpy as np
import pytest
import walks
from docutils import nodes
from docutils.core import publish_doctree
from docutils.parsers.rst import directives

from autograder.chapter.plain_markdown import DIRECTIVES
from autograder.house import HOUSE
from solutions import numbers
from solutions.attention import attention
from solutions.backward import attention_backward, softmax_backward
from solutions.decoding import greedy_decode
from solutions.model import cross_attention_weights, decode, encode, log_softmax
from solutions.parameters import load, map_tree, save
from solutions.position import shift_matrix, sinusoidal_encoding
from solutions.translator import translate

pytestmark = pytest.mark.book

KEYS = np.array([[-1.0, 1.0], [1.0, 1.0], [0.0, -1.0]])  # Ada, Tom, the ball
VALUES = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
ROWS = "[...document.querySelectorAll('.explorer tbody tr')].map(row => row.cells[{cell}].textContent)"
SAID = "document.querySelector('.explorer-said').textContent"


@pytest.fixture
def opened(html, browser):
    """opened(chapter) -> the tab; where it shows the chapter already, things stand as the last test left them."""

    def opened(chapter):
        url = (html / "chapters" / f"{chapter}.html").as_uri()
        if browser.evaluate("location.href") != url:
            browser.send("Emulation.setFocusEmulationEnabled", enabled=True)
            browser.open(url)
        return browser

    return opened


@pytest.fixture
def tab(opened):
    return opened("01_attention")


def expected(query, divided=True):
    strengths = np.exp(KEYS @ query / (math.sqrt(2) if divided else 1))
    weights = strengths / strengths.sum()
    return [f"{weight:.2f}" for weight in weights], [f"{n:.2f}".replace("-", "−") for n in weights @ VALUES]


def shows(tab, query, divided=True):
    weights, found = expected(np.array(query), divided)
    tab.wait(f"JSON.stringify({ROWS.format(cell=2)}) === JSON.stringify({weights})")
    return f"finds ({', '.join(found)})" in tab.evaluate(SAID)


def drag(tab, element, *places):
    """Press on the first place of an element, go over the others, let go; a place is a share of its box, each way."""
    tab.evaluate(f"document.querySelectorAll('{element[0]}')[{element[1]}].scrollIntoView({{block: 'center'}})")
    x, y, width, height = tab.evaluate(f"""(box => [box.x, box.y, box.width, box.height])(
        document.querySelectorAll('{element[0]}')[{element[1]}].getBoundingClientRect())""")
    kinds = ["mousePressed", *["mouseMoved"] * (len(places) - 1), "mouseReleased"]
    for kind, (across, down) in zip(kinds, [*places, places[-1]], strict=True):
        place = {"x": min(x + across * width, 1279), "y": y + down * height}
        tab.send("Input.dispatchMouseEvent", type=kind, button="left", buttons=1, clickCount=1, **place)


UNNAMED = """[...document.querySelectorAll('.explorer :is(input, button, select)')].filter(
    each => !(each.ariaLabel || each.labels?.[0]?.textContent.trim() || each.textContent.trim())).length"""
WORDLESS = """[...document.querySelectorAll('.explorer thead tr > *, .explorer th')].filter(
    each => each.tagName !== 'TH' || !each.textContent.trim()).length"""
PALE = """(() => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const light = colour => colour.slice(0, 3).map(c => c / 255)
    .map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
    .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
  const paper = each => {
    const [r, g, b, alpha = 1] = channels(getComputedStyle(each).backgroundColor);
    const below = alpha < 1 ? paper(each.parentElement) : [0, 0, 0];
    return [r, g, b].map((c, i) => alpha * c + (1 - alpha) * below[i]);
  };
  const contrast = (a, b) => (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  const written = [...document.querySelectorAll('.explorer *')].filter(
    each => [...each.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim()));
  const ink = each => channels(getComputedStyle(each)[each instanceof SVGElement ? "fill" : "color"]);
  const pale = written.filter(each => contrast(light(ink(each)), light(paper(each))) < 4.5);
  return [written.length > 20, ...pale.map(each => each.outerHTML)];
})()"""


def reads_well(tab):
    """Every control and every head of a table has a name, and every word stands out from its ground."""
    assert tab.evaluate(UNNAMED) == tab.evaluate(WORDLESS) == 0
    for dark in (True, False):
        tab.prefer(dark)
        tab.wait(f"document.documentElement.dataset.theme === '{'dark' if dark else 'light'}'")
        tab.wait(f"JSON.stringify({PALE}) === '[true]'", seconds=5)
    return True


def move(tab, number, value):
    """A slider, as the arrow keys move it."""
    tab.evaluate(f"""(slider => {{ slider.value = {value}; slider.dispatchEvent(new Event("input")) }})(
        document.querySelectorAll('.explorer input[type=range]')[{number}])""")


def test_it_begins_with_the_query_of_the_text_and_computes_what_the_chapter_does(tab):
    assert shows(tab, (1, 1))
    assert tab.evaluate(ROWS.format(cell=1)) == ["0.00", "1.41", "−0.71"]
    move(tab, 0, -2.5)
    move(tab, 1, 0.5)
    assert shows(tab, (-2.5, 0.5))
    tab.evaluate("document.querySelector('.explorer input[type=checkbox]').click()")
    assert shows(tab, (-2.5, 0.5), divided=False)
    tab.evaluate("document.querySelector('.explorer input[type=checkbox]').click()")
    assert reads_well(tab)
    assert not tab.exceptions()


def test_the_arrow_is_dragged(tab):
    def at(x, y):
        return (x + 3.6) / 7.2, (3.6 - y) / 7.2

    drag(tab, (".explorer svg", 0), at(1, 1), at(0, 1), at(9, -2))
    assert shows(tab, (3, -2))  # as far as it reaches


def test_the_query_answers_to_the_keyboard(tab):
    tab.evaluate("document.querySelectorAll('.explorer button')[1].focus()")
    tab.press("Enter")
    assert shows(tab, (0, -1))
    tab.evaluate("document.querySelector('.explorer input[type=range]').focus()")
    tab.press("ArrowRight")
    assert shows(tab, (0.1, -1))


# ------------------------------------------------------------------------------------------------- masks

LEAKS = "[...document.querySelectorAll('.explorer-grid button')].map(each => each.className)"


def known(mask, layers):
    """What each place depends on: what it is itself, and what those it attends to depended on one layer below."""
    return np.linalg.matrix_power((mask | np.eye(6, dtype=bool)).astype(int), layers) > 0


def paints(tab, mask, layers):
    reached = known(mask, layers)
    leaks = reached & ~np.tri(6, dtype=bool)
    how = np.where(mask, "may", np.where(reached, "through", "hidden"))
    classes = [f"{name} leak" if leak else str(name) for name, leak in zip(how.flat, leaks.flat, strict=True)]
    tab.wait(f"JSON.stringify({LEAKS}) === JSON.stringify({classes})")
    count = leaks.sum()
    return tab.evaluate(SAID).startswith(f"{count} leak" if count else "Tight")


def press_button(tab, name):
    tab.evaluate(
        f"[...document.querySelectorAll('.explorer-presets button')].find(b => b.textContent === '{name}').click()"
    )


def causal(tab):
    press_button(tab, "causal")
    move(tab, 0, 1)
    return tab


def test_a_mask_shows_what_leaks_through_so_many_layers(opened):
    tab = opened("03_masking")
    causal, places = np.tri(6, dtype=bool), np.arange(6)
    peek = causal.copy()
    peek[1, 5] = True
    far = places[:, None] + 1 >= places
    for name, mask in (("causal", causal), ("one peek", peek), ("one word too far", far), ("no mask", causal | True)):
        press_button(tab, name)
        for layers in (1, 2, 5):
            move(tab, 0, layers)
            assert paints(tab, mask, layers), (name, layers)
    assert reads_well(tab)
    assert not tab.exceptions()


def test_a_mask_is_painted_with_the_pointer_and_from_the_keyboard(opened):
    tab = causal(opened("03_masking"))
    mask = np.tri(6, dtype=bool)
    tab.evaluate("document.querySelector('.explorer-grid').scrollIntoView({block: 'center'})")
    for kind, cell in (("mousePressed", 2), ("mouseMoved", 3), ("mouseReleased", 3)):  # of the first row
        place = tab.evaluate(f"""(box => ({{x: box.x + box.width / 2, y: box.y + box.height / 2}}))(
            document.querySelectorAll('.explorer-grid button')[{cell}].getBoundingClientRect())""")
        tab.send("Input.dispatchMouseEvent", type=kind, button="left", buttons=1, clickCount=1, **place)
    mask[0, 2:4] = True
    assert paints(tab, mask, 1)
    tab.evaluate("document.querySelector('.explorer-grid button[tabindex=\"0\"]').focus()")
    tab.press("ArrowRight")
    tab.press(" ")
    mask[0, 1] = True
    assert paints(tab, mask, 1)
    said = tab.evaluate("document.activeElement.ariaLabel")
    assert said == "<bos> asks, Ada is found: may attend, a leak"


def test_a_pointer_that_is_called_off_paints_no_more(opened):
    """As when a phone takes a finger for a scroll: then nothing is let go, and the next that comes by would paint."""
    tab = causal(opened("03_masking"))
    tab.evaluate("document.querySelector('.explorer-grid').scrollIntoView({block: 'center'})")
    first, second = (
        tab.evaluate(f"""(box => ({{x: box.x + box.width / 2, y: box.y + box.height / 2}}))(
            document.querySelectorAll('.explorer-grid button')[{cell}].getBoundingClientRect())""")
        for cell in (2, 4)
    )
    tab.send("Input.dispatchTouchEvent", type="touchStart", touchPoints=[first])
    tab.send("Input.dispatchTouchEvent", type="touchCancel", touchPoints=[])
    tab.send("Input.dispatchMouseEvent", type="mouseMoved", **second)
    mask = np.tri(6, dtype=bool)
    mask[0, 2] = True
    assert paints(tab, mask, 1)


# ------------------------------------------------------------------------------------------------ clocks

CLOCKS = """[...document.querySelectorAll('.explorer-clocks table')].map(
    table => [...table.querySelectorAll('td')].map(cell => cell.textContent))"""


def turned(p, k):
    """For each clock what its table holds: its pair at p, its 2 x 2 part of the shift matrix, its pair at p + k."""
    rows, shift = sinusoidal_encoding(max(p, p + k) + 1, 8), shift_matrix(k, 8)
    pairs = [slice(i, i + 2) for i in range(0, 8, 2)]
    return [[*rows[p, pair], *shift[pair, pair].flat, *rows[p + k, pair]] for pair in pairs]


def turns(tab, p, k):
    numbers = [[f"{number:.3f}".replace("-", "−") for number in clock] for clock in turned(p, k)]
    tab.wait(f"JSON.stringify({CLOCKS}) === JSON.stringify({numbers})")
    return tab.evaluate(SAID).startswith(f"From position {p} to {p + k} the four clocks turn by ")


def one_to_four(tab):
    move(tab, 0, 3)
    move(tab, 1, 1)
    return tab


def test_a_shift_turns_the_clocks_as_the_chapter_s_matrix_does(opened):
    tab = opened("06_position")
    assert turns(tab, 1, 3)
    for p, k in ((9, 3), (60, 3), (60, -7), (100, 10)):
        move(tab, 0, k)
        move(tab, 1, p)
        assert turns(tab, p, k)
    move(tab, 1, 0)
    move(tab, 0, -10)
    assert turns(tab, 10, -10)  # there is no position before the first
    assert reads_well(tab)
    assert not tab.exceptions()


def test_a_hand_is_turned_and_takes_the_position_with_it(opened):
    tab = one_to_four(opened("06_position"))
    drag(tab, (".explorer-clocks svg", 1), (0.5, 0.1), (0.8, 0.2), (0.9, 0.5))  # a quarter of a round, π / 2 / 0.1
    assert turns(tab, 17, 3)
    drag(tab, (".explorer-clocks svg", 0), (0.1, 0.5), (0.5, 0.1), (0.9, 0.5), (0.5, 0.9), (0.1, 0.5), (0.5, 0.1))
    assert turns(tab, 25, 3)  # five quarters
    drag(tab, (".explorer-clocks svg", 2), (0.5, 0.1), (0.1, 0.5))
    assert turns(tab, 0, 3)  # a hundred and more back, but there is nothing before 0


def test_the_clocks_answer_to_the_keyboard(opened):
    tab = one_to_four(opened("06_position"))
    for slider, p, k in ((0, 1, 4), (1, 2, 4)):
        tab.evaluate(f"document.querySelectorAll('.explorer input[type=range]')[{slider}].focus()")
        tab.press("ArrowRight")
        assert turns(tab, p, k)
    tab.evaluate("document.querySelectorAll('.explorer-presets button')[1].focus()")
    tab.press("Enter")
    assert turns(tab, 9, 4)


# ------------------------------------------------------------------------------------------------- steps

STEP = """(part => ({
  said: document.querySelector(".explorer-said").textContent,
  formulas: [...part.querySelectorAll("mjx-container")].filter(each => each.getBoundingClientRect().width > 9).length,
  tables: [...part.querySelectorAll("table")].map(table => [...table.rows].map(
    row => [...row.cells].map(cell => cell.textContent))),
  arrows: document.querySelectorAll(".explorer-graph .backwards:not(.later)").length,
}))(document.querySelector(".explorer-step:not([hidden])"))"""


def step(tab, number, of):
    """What the page shows at a step, once it stands there."""
    tab.wait(f"{SAID}.startsWith('Step {number} of {of}: ')")
    found = tab.evaluate(STEP)
    assert found["arrows"] == number and found["formulas"] > 0
    return found


def written(matrix):
    return [[f"{n:.2f}".replace("-0.00", "0.00").replace("-", "−") for n in row] for row in matrix]


def test_each_step_shows_its_arrow_its_shape_and_what_attention_backward_returns(opened):
    tab = opened("02_backward")
    asking = np.array([[1.0, 1.0], [-1.0, 1.0], [0.0, 1.0], [0.0, -1.0]])
    wanted = np.array([[0, 1, 0], [1, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]) @ VALUES
    found, cache = attention(asking, KEYS, VALUES)
    arrays = {"A": cache[3], "O": found, "wanted": wanted, "dO": found - wanted, "Q": asking, "K": KEYS, "V": VALUES}
    arrays["dQ"], arrays["dK"], arrays["dV"] = attention_backward(found - wanted, cache)
    arrays["dA"] = (found - wanted) @ VALUES.T
    arrays["dS"] = softmax_backward(arrays["dA"], cache[3])
    shown = {}
    for number in range(1, 7):
        part = step(tab, number, of=6)
        for (head, *_), *rows in part["tables"]:
            assert [row[1:] for row in rows] == written(arrays[head]), head
        shown[head] = part["said"]
        tab.evaluate("document.querySelectorAll('.explorer-presets button')[1].click()")
    assert list(shown) == ["dO", "dV", "dA", "dS", "dQ", "dK"]
    assert all(said.endswith(f": {name}, of shape {arrays[name].shape}") for name, said in shown.items())
    assert reads_well(tab)
    assert not tab.exceptions()


def test_the_steps_are_walked_with_the_arrow_keys_and_the_focus_stays(opened):
    tab = opened("02_backward")
    tab.evaluate("document.querySelectorAll('.explorer-presets button')[1].focus()")
    for key, number in (("End", 6), ("ArrowRight", 6), ("ArrowLeft", 5), ("ArrowRight", 6), ("Enter", 6)):
        tab.press(key)
        step(tab, number, of=6)
        assert tab.evaluate("document.activeElement.textContent") == "Next"


def test_in_an_encoder_layer_the_others_hear_of_a_word_through_the_attention_alone(opened):
    tab = opened("05_residual")
    tab.evaluate("document.querySelectorAll('.explorer-presets button')[0].focus()")
    shown, he = {}, [word == 6 for word in range(9)]  # Ada threw Tom the ball but he dropped it
    for number in range(1, 10):
        part = step(tab, number, of=9)
        assert part["said"].endswith(", of shape (9, 24)")
        [[_, *names], *rows] = part["tables"][0]
        for column, name in enumerate(names, 1):
            lengths = [float(row[column]) for row in rows]
            assert shown.setdefault(name, lengths) == lengths, f"{name} is another than before"
        tab.press("ArrowRight")
    assert shown["ds′"] == shown["past′"] == shown["dv"] and shown["ds"] == shown["past"] == shown["du"]
    heard = {name: [length > 0 for length in lengths] for name, lengths in shown.items()}
    assert {name for name, words in heard.items() if words != he} == {"key", "value", "dx"}
    assert all(heard["dx"])
    assert reads_well(tab)
    assert not tab.exceptions()


# -------------------------------------------------------------------------------------------- translator

N_HEADS, LONGEST = 4, 20
PARAMS = load(HOUSE / "chapters" / "translator.npz")
BROUGHT = map_tree(lambda array: array.astype(np.float16).astype(np.float64), PARAMS)  # what the page computes with
MAPS = """[...document.querySelectorAll('.explorer-map')].map(
    table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent)))"""
BARS = """[...document.querySelectorAll('.explorer-stage > div:nth-child(2) tr')].map(
    row => [...row.cells].slice(0, 2).map(cell => cell.textContent))"""


def silenced(heads):
    """The parameters, with zeros where the output projection reads what these heads have found."""
    params = map_tree(np.copy, BROUGHT)
    rows = params["decoder"][0]["cross_attention"]["w_output"].reshape(N_HEADS, -1, 32)
    rows[list(heads)] = 0
    return params


def written_for(number, struck=(), heads=()):
    """The model of the book: source, the tokens it writes, its logits and the weights of its cross-attention."""
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
    """A word to strike out (row 0), a head to silence (row 1)."""
    tab.evaluate(f"document.querySelectorAll('.explorer [role=group]')[{row}].children[{which}].click()")


def translates(tab, number, upto=None, struck=(), heads=()):
    """Whether the page shows what the model of the book computes; returns the sentence that is read aloud."""
    _, tokens, logits, weights = written_for(number, struck, heads)
    upto = upto or len(tokens)
    words = [numbers.VOCABULARY[token] for token in tokens[:upto]]
    maps = [
        [[f"head {head}{', silent' if head in heads else ''}", *numbers.english(number)]]
        + [[word, *(f"{weight:.2f}" for weight in row)] for word, row in zip(words, each, strict=False)]
        for head, each in enumerate(weights)
    ]
    assert tab.evaluate(MAPS) == maps
    probabilities = np.exp(log_softmax(logits[upto - 1]))
    likeliest = [[numbers.VOCABULARY[i], f"{probabilities[i]:.2f}"] for i in np.argsort(-probabilities)[:5]]
    assert tab.evaluate(BARS) == [[f"word {upto}", "probability"], *likeliest]
    return tab.evaluate(SAID)


def test_the_page_s_forward_pass_is_the_book_s(opened):
    tab = opened("09_training")
    cases = [(245,), (77_777,), (0,), (245, [1]), (245, [], [0]), (77_777, [0, 3], [1, 3]), (245, [0, 1, 2, 3])]
    cases += [(27_345, [], [0, 1, 2])]  # never comes to an end
    expected = [written_for(*case) for case in cases]
    asked = [
        [src.tolist(), (src != numbers.PAD).tolist(), case[2] if len(case) > 2 else []]
        for case, (src, *_) in zip(cases, expected, strict=True)
    ]
    found = tab.evaluate(f"""(params => {json.dumps(asked)}.map(([source, kept, silent]) => Model.greedy(
        params, source, kept, {N_HEADS}, new Set(silent), {{bos: 1, eos: 2, longest: {LONGEST}}})))(
        Model.read(JSON.parse(document.querySelector(".explorer script").textContent)))""")
    for case, page, (_, tokens, logits, weights) in zip(cases, found, expected, strict=True):
        assert page["tokens"] == tokens.tolist(), case
        np.testing.assert_allclose(page["logits"], logits, atol=1e-9, err_msg=str(case))
        np.testing.assert_allclose(page["weights"], weights, atol=1e-9, err_msg=str(case))


def test_the_page_spells_numbers_and_translates_them(opened):
    tab = opened("09_training")
    some = [*range(120), 200, 312, 999, 1000, 1001, 1100, 17_000, 21_000, 66_616, 70_077, 99_999]
    found = tab.evaluate(f"""{some}.map(number => {{
        const input = document.querySelector('.explorer input[type=number]');
        input.value = number;
        input.dispatchEvent(new Event("input"));
        const words = document.querySelector('.explorer [role=group]').querySelectorAll("button");
        return [[...words].map(word => word.textContent), {SAID}];
    }})""")
    tokens, _ = translate(PARAMS, some)
    for number, row, (asked, said) in zip(some, tokens, found, strict=True):
        assert asked == numbers.english(number)
        assert numbers.words(row) == " ".join(numbers.german(number))
        assert said == f"{number}: {numbers.words(row)}. That is right."


def test_a_word_is_struck_out_and_a_head_silenced(opened):
    tab = opened("09_training")
    type_number(tab, 245)
    assert translates(tab, 245) == "245: zwei hundert fünf und vier zig. That is right."
    press_toggle(tab, 0, 3)
    right = "Right is: zwei hundert fünf und vier zig."
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
    type_number(tab, 27_345)  # what was struck out was a word of the other number
    press_toggle(tab, 1, 0)
    press_toggle(tab, 1, 1)
    assert " und … and no end. Right is: " in translates(tab, 27_345, heads=[0, 1, 2])
    for head in (0, 1, 2):
        press_toggle(tab, 1, head)
    assert translates(tab, 27_345).endswith("That is right.")
    assert not tab.exceptions()


def test_decoding_is_stepped_through_from_the_keyboard(opened):
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
    tab.press("Enter")  # a head is silenced, and one stays at the word
    assert translates(tab, 45, 3, heads=[0]) == "45: fünf und vier …"
    assert tab.evaluate("document.activeElement.ariaPressed") == "true"
    tab.press("Enter")
    type_number(tab, 21)  # another number is read to its end
    assert translates(tab, 21) == "21: ein und zwan zig. That is right."
    press_button(tab, "Back")
    press_button(tab, "Back")
    assert translates(tab, 21, 3) == "21: ein und zwan …"
    press_button(tab, "All")
    assert translates(tab, 21) == "21: ein und zwan zig. That is right."
    groups = "[...document.querySelectorAll('.explorer [role=group]')].map(group => group.ariaLabel)"
    assert tab.evaluate(groups) == ["Strike out", "Silence"]


def test_what_is_no_number_of_the_model_s_is_said_to_be_none(opened):
    tab = opened("09_training")
    for text in ("100000", "-1", "1.5", ""):
        type_number(tab, text)
        assert tab.evaluate(SAID) == "The model has learnt the whole numbers from 0 to 99,999."
        assert tab.evaluate("document.querySelector('.explorer-tables').checkVisibility()") is False
    type_number(tab, 7)
    assert translates(tab, 7) == "7: sieben. That is right."
    assert tab.evaluate("document.querySelector('.explorer-tables').checkVisibility()") is True


def test_half_precision_is_enough_for_the_translator():
    assert translate(BROUGHT, np.arange(1000))[1] == 1


MODEL = """
.. explorer:: translator
   :model: small.npz

   Type a number.
"""


def with_model(folder):
    """What docutils makes of MODEL beside the files of a folder."""
    directives.register_directive("explorer", explorers.Explorer)
    environment = SimpleNamespace(
        relfn2path=lambda name: (name, str(folder / name)), note_dependency=lambda name: noted.append(name)
    )
    noted = []
    return publish_doctree(MODEL, settings_overrides={"report_level": 5, "env": environment}), noted


def test_a_model_is_brought_in_half_precision_and_without_its_file_there_is_an_error(tmp_path):
    page, _ = with_model(tmp_path)
    assert "no parameters can be read from 'small.npz'" in page.astext()
    (tmp_path / "small.npz").write_bytes(b"PK\x03\x04 and no more")
    page, _ = with_model(tmp_path)
    assert "no parameters can be read from 'small.npz'" in page.astext()
    save(tmp_path / "small.npz", {"embeddings": {"shared": np.array([[1.0, -0.1]])}, "gain": np.array([3e-6])})
    page, noted = with_model(tmp_path)
    [place] = page.findall(explorers.explorer)
    assert place["model"]["shapes"] == {"embeddings.shared": (1, 2), "gain": (1,)}
    numbers_brought = np.frombuffer(base64.b64decode(place["model"]["float16"]), "<f2")
    np.testing.assert_array_equal(numbers_brought, np.array([1.0, -0.1, 3e-6], np.float16))
    assert noted == ["small.npz"]


WALK = """
.. explorer:: steps
   :walk: squares

   Press Next.

   dx
      Twice x.
"""


def published(walk, monkeypatch):
    """What docutils makes of WALK, below a cell that handed over the walk."""
    record = {name.removeprefix(walks.RECORD): text for name, text in walk._repr_mimebundle_()[0].items()}
    monkeypatch.setattr(explorers, "retrieve_glue_data", lambda document, name: SimpleNamespace(data=record))
    directives.register_directive("explorer", explorers.Explorer)
    return publish_doctree(WALK, settings_overrides={"report_level": 5})


def test_a_walk_goes_where_the_page_says_something_of_each_of_its_steps(monkeypatch):
    places, x = {"x": (0, 0), "L": (1, 0)}, np.array([[1.0, -0.001]])
    there = walks.step("L", "x", x, walks.table("x", x, ["row"], ["a", "b"]))
    page = published(walks.Walk("squares", places, {"dx": there}), monkeypatch)
    [place] = page.findall(explorers.explorer)
    numbers = {"name": "x", "columns": ["a", "b"], "rows": [["row", [1.0, 0.0]]]}
    assert place["walk"]["steps"] == [{"name": "dx", "from": "L", "to": "x", "shape": [1, 2], "tables": [numbers]}]
    page = published(walks.Walk("squares", places, {"dx": there, "dy": there}), monkeypatch)
    assert "the walk 'squares' goes dx, dy; said is something of dx" in page.astext()
    with pytest.raises(ValueError, match="no place is given for L"):
        walks.Walk("squares", {"x": (0, 0)}, {"dx": there})
    with pytest.raises(ValueError, match=r"x has shape \(1, 2\), and labels for \(2, 1\)"):
        walks.table("x", x, ["a", "b"], ["row"])


def test_a_walk_that_no_cell_has_handed_over_is_an_error():
    directives.register_directive("explorer", explorers.Explorer)
    page = publish_doctree(WALK, settings_overrides={"report_level": 5})
    assert "no cell above hands over a walks.Walk called 'squares'" in page.astext()


def test_without_a_script_in_an_epub_and_in_a_notebook_there_is_nothing_to_see(html):
    page = (html / "chapters" / "01_attention.html").read_text(encoding="utf-8")
    assert '<div class="explorer" data-explorer="query" hidden>' in page and "explore-query.js" in page
    assert "explore" not in (html / "chapters" / "04_multihead.html").read_text(encoding="utf-8")
    assert DIRECTIVES["explorer"](None, None) == ""
    with pytest.raises(nodes.SkipNode):
        explorers.visit_html(SimpleNamespace(builder=SimpleNamespace(name="epub")), None)


def test_a_name_that_no_script_has_is_an_error():
    directives.register_directive("explorer", explorers.Explorer)
    page = publish_doctree(".. explorer:: nobody", settings_overrides={"report_level": 5})
    assert "there is no explorer 'nobody'" in page.astext()
