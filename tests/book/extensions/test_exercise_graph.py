"""The graph of the exercises: each exercise is below those that it builds on, and the page highlights these."""

import re
from functools import cache
from itertools import combinations

import exercise_graph
import indexes
import pytest

from tests.choosing import thinned

pytestmark = pytest.mark.book

NAME = "decoder_layer_backward"
# What the page shows as lit: the names in the graph, in order, and the names at which its lines end.
LIT = "[...document.querySelectorAll('.exercise-graph a.lit')].map(link => link.dataset.name)"
LINES = "[...document.querySelectorAll('.exercise-graph path.lit')].map(line => line.dataset.to)"
STATUS = "document.querySelector('.exercise-graph-status').textContent"
BOX = "document.querySelector('.exercise-graph')"
# Sends an event of a mouse or a finger to an exercise. Returns whether its link would then be followed.
SEND = """((link, type, pointerType) => link.dispatchEvent(
    new PointerEvent(type, {{pointerType: pointerType, bubbles: true, cancelable: true}})))(
    document.querySelector('.exercise-graph a[data-name="{name}"]'), "{event}", "{pointer}")"""


@cache
def needs():
    every = indexes.listed()
    functions = {name: every[name].needs for name in every if not name.startswith(("predicted_", "repaired_"))}
    return exercise_graph.connected(functions)


def ancestors(name):
    """Return an exercise and all that it builds on, directly or through others."""
    return {name}.union(*(ancestors(needed) for needed in needs()[name]))


@pytest.fixture(scope="module", params=thinned(["chromium", "firefox"], ["chromium"], "the same in a second browser"))
def tab(request, html):
    tab = request.getfixturevalue({"chromium": "chromium_browser", "firefox": "firefox"}[request.param])
    if request.param == "chromium":
        tab.send("Emulation.setFocusEmulationEnabled", enabled=True)
    tab.open((html / "chapters" / "exercises.html").as_uri())
    return tab


def send(tab, event, pointer, name=NAME):
    return tab.evaluate(SEND.format(name=name, event=event, pointer=pointer))


def test_an_exercise_that_stands_alone_is_not_in_the_graph():
    assert exercise_graph.connected({"a": [], "b": ["a"], "c": [], "d": ["elsewhere"]}) == {"a": [], "b": ["a"]}


def test_every_exercise_stands_below_what_it_builds_on_and_beside_no_other():
    source = indexes.graph().html
    links = re.findall(r'left: (\d+)px; top: (\d+)px" data-name="(\w+)" data-needs="([\w ]*)"', source)
    places = {name: (int(left), int(top)) for left, top, name, _ in links}
    assert places.keys() == needs().keys() and len(places) > 50
    for _, _, name, needed in links:
        assert all(places[one][1] + exercise_graph.LINK_HEIGHT < places[name][1] for one in needed.split()), name
    for (left, top), (other_left, other_top) in combinations(places.values(), 2):
        apart = (
            abs(left - other_left) >= exercise_graph.LINK_WIDTH or abs(top - other_top) >= exercise_graph.LINK_HEIGHT
        )
        assert apart and 0 <= left <= (exercise_graph.COLUMNS - 0.5) * exercise_graph.WIDTH


def lights_up(tab, name=NAME):
    """Check that exactly an exercise, all that it builds on, and the lines between them are lit."""
    wanted = ancestors(name)
    lines = [end for end, starts in needs().items() if end in wanted for _ in starts]
    assert sorted(tab.evaluate(LIT)) == sorted(wanted) and sorted(tab.evaluate(LINES)) == sorted(lines)
    others = [other for other in tab.evaluate(LIT) if other != name]
    return tab.evaluate(STATUS) == f"{name} builds on {', '.join(others)}."


def is_dark(tab):
    return tab.evaluate(LIT) == tab.evaluate(LINES) == [] and tab.evaluate(STATUS).startswith("Point at an exercise")


def test_the_mouse_lights_up_what_an_exercise_builds_on(tab):
    assert is_dark(tab)
    send(tab, "pointerenter", "mouse")
    assert len(ancestors(NAME)) > 8 and lights_up(tab)
    send(tab, "pointerleave", "mouse")
    assert is_dark(tab)
    send(tab, "pointerenter", "mouse", "softmax")
    assert tab.evaluate(STATUS) == "softmax builds on no other exercise."
    send(tab, "pointerleave", "mouse", "softmax")


@pytest.mark.thorough("the same with the keyboard")
def test_the_focus_lights_up_what_an_exercise_builds_on(tab):
    tab.evaluate(f"document.querySelector('.exercise-graph a[data-name={NAME}]').focus()")
    assert lights_up(tab)
    tab.press("Escape")
    assert is_dark(tab)
    tab.press("Tab")
    following = tab.evaluate("document.activeElement.dataset.name")
    assert following != NAME and lights_up(tab, following)
    tab.evaluate("document.activeElement.blur()")
    assert is_dark(tab)


@pytest.mark.thorough("the same with a finger")
def test_the_first_tap_lights_up_and_the_second_follows_the_link(tab):
    tab.evaluate(
        "document.addEventListener('click', event => { followed = !event.defaultPrevented; event.preventDefault() })"
    )
    for followed in (False, True):
        send(tab, "pointerdown", "touch")
        send(tab, "click", "touch")
        assert lights_up(tab)
        assert tab.evaluate("followed") is followed
    tab.evaluate("document.body.dispatchEvent(new PointerEvent('pointerdown', {bubbles: true}))")
    assert is_dark(tab)


@pytest.mark.parametrize("width", [390, 1280])
def test_the_graph_scrolls_inside_its_box(tab, width):
    tab.resize(width)
    tab.wait(f"innerWidth === {width}")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate(f"{BOX}.scrollWidth > {BOX}.clientWidth") == (width == 390)
    assert tab.evaluate(f"getComputedStyle({BOX}).overflowX") == "auto"
