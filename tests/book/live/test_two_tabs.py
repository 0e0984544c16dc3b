"""One exercise or given cell in two tabs: a tab follows the other, or asks. No text is lost.

The other tab is simulated: its text appears in the storage, with or without the event that tells this tab of it.
"""

import json

import pytest

from tests.book.live.reader import Page

pytestmark = pytest.mark.book

ASKING = "box.querySelector('.live-asking')"
MINE, THEIRS = "# mine", "# of the other tab"
EVENT = "dispatchEvent(new StorageEvent('storage', {key: '/ exercise softmax'}))"
CELL = "cell-4"
EVENT_OF_CELLS = "dispatchEvent(new StorageEvent('storage', {key: '/ cells 01_attention'}))"
BACK = "dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))"


class Tab(Page):
    """A page and what another tab does to its exercise softmax."""

    @property
    def text(self):
        return self.source("softmax")

    @property
    def stored(self):
        return self.browser.evaluate("bookStorage.read('exercise softmax')")

    @property
    def asks(self):
        return self.ask("softmax", f"{ASKING} !== null")

    def write_in_other_tab(self, source, told=True):
        version = self.browser.evaluate(
            "JSON.parse(document.getElementById('live-exercises').textContent).exercises[0].version"
        )
        state = {"failed": 0, **self.stored, "version": version, "source": source}
        self.browser.evaluate(f"bookStorage.write('exercise softmax', {json.dumps(state)})")
        if told:
            self.browser.evaluate(EVENT)


class CellTab(Page):
    """A page and what another tab does to one of its given cells."""

    @property
    def text(self):
        return self.source(CELL)

    @property
    def asks(self):
        return self.ask(CELL, f"{ASKING} !== null")

    @property
    def stored(self):
        return self.browser.evaluate(f"bookStorage.read('cells 01_attention')[{self.of_the_book}]")

    @property
    def of_the_book(self):
        return f"document.querySelector('#{CELL} > .cell_input pre').textContent.trimEnd()"

    def write_in_other_tab(self, source):
        state = f"{{...bookStorage.read('cells 01_attention')[book], source: {json.dumps(source)}}}"
        store = (
            f"bookStorage.write('cells 01_attention', {{...bookStorage.read('cells 01_attention'), [book]: {state}}})"
        )
        self.browser.evaluate(f"(book => {{ {store}; {EVENT_OF_CELLS} }})({self.of_the_book})")

    def try_it(self):
        self.browser.evaluate(f"document.querySelector('#{CELL} .live-try button').click()")


@pytest.fixture
def tab(lasting_python, page):
    return Tab(page.browser, page.site)


def test_a_tab_without_changes_follows_the_other(tab):
    tab.focus("softmax")
    for source in (THEIRS, THEIRS + " again"):
        tab.write_in_other_tab(source)
        assert tab.text == source and not tab.asks


def test_a_tab_with_changes_asks_when_the_other_has_stored_another_text(tab):
    tab.write("softmax", MINE)
    tab.write_in_other_tab(THEIRS)
    assert tab.asks and tab.text == MINE
    assert tab.ask("softmax", f"{ASKING}.querySelector('pre').textContent") == THEIRS
    tab.write_in_other_tab(THEIRS + " again")
    assert tab.ask("softmax", f"{ASKING}.querySelector('pre').textContent") == THEIRS + " again"
    tab.press("softmax", "Keep mine")
    assert not tab.asks and tab.text == tab.stored["source"] == MINE
    tab.press("softmax", "Bring back what I wrote")
    assert tab.text == THEIRS + " again"
    tab.press("softmax", "Bring back what I wrote")
    assert tab.text == MINE


def test_a_browser_without_room_asks_nothing(tab):
    full = "function () { throw new DOMException('', 'QuotaExceededError'); }"
    tab.browser.evaluate(f"void (Storage.prototype.setItem = {full})")
    for source in (MINE, MINE + " again"):
        tab.write("softmax", source)
        assert not tab.asks and tab.text == tab.stored["source"] == source


@pytest.mark.thorough("another way to learn of the other text")
def test_a_tab_asks_before_it_replaces_a_text_that_it_does_not_know(tab):
    tab.write_in_other_tab(THEIRS, told=False)
    tab.write("softmax", MINE)
    assert tab.asks and tab.stored["source"] == THEIRS
    tab.press("softmax", "Take the other")
    assert not tab.asks and tab.text == tab.stored["source"] == THEIRS
    tab.press("softmax", "Bring back what I wrote")
    assert tab.text == tab.stored["source"] == MINE


@pytest.mark.thorough("the question that this tab asks is tested")
def test_a_tab_that_is_closed_before_the_reader_chooses_loses_nothing(tab):
    tab.write("softmax", MINE)
    tab.write_in_other_tab(THEIRS)
    tab.write("softmax", MINE + ", and more")
    assert tab.stored["source"] == THEIRS
    tab.open()
    assert tab.text == THEIRS
    tab.press("softmax", "Bring back what I wrote")
    assert tab.text == MINE + ", and more"


@pytest.mark.thorough("tabs with another text are tested")
def test_a_tab_does_not_ask_if_the_other_only_runs_the_same_text(tab):
    tab.write("softmax", MINE)
    state = {**tab.stored, "passing": MINE}
    tab.browser.evaluate(f"bookStorage.write('exercise softmax', {json.dumps(state)}); {EVENT}")
    assert not tab.asks
    assert tab.ask("softmax", "box.querySelector('.live-mark').innerText") == "✓ passes"
    tab.write("softmax", MINE + "\n")
    assert tab.stored["passing"] == MINE


@pytest.mark.thorough("the stub is another text")
def test_a_tab_asks_when_the_other_has_brought_the_stub_back(tab):
    tab.write("softmax", MINE)
    state = {**tab.stored, "source": None}
    tab.browser.evaluate(
        f"{{const {{source, ...state}} = {json.dumps(state)}; bookStorage.write('exercise softmax', state)}}"
    )
    tab.browser.evaluate(EVENT)
    assert tab.asks and tab.text == MINE
    assert "raise NotImplementedError" in tab.ask("softmax", f"{ASKING}.querySelector('pre').textContent")


@pytest.fixture
def cell_tab(lasting_python, page):
    return CellTab(page.browser, page.site)


def test_a_cell_that_both_tabs_have_changed_asks_and_keeps_both_texts(cell_tab):
    cell_tab.try_it()
    cell_tab.write(CELL, MINE)
    cell_tab.write_in_other_tab(THEIRS)
    assert cell_tab.asks and cell_tab.text == MINE
    assert cell_tab.ask(CELL, f"{ASKING}.querySelector('pre').textContent") == THEIRS
    cell_tab.press(CELL, "Keep mine")
    assert not cell_tab.asks and cell_tab.text == cell_tab.stored["source"] == MINE
    for text in (THEIRS, MINE):
        cell_tab.press(CELL, "Bring back what I wrote")
        assert cell_tab.text == cell_tab.stored["source"] == text


def test_a_page_to_which_the_reader_goes_back_follows_other_tabs(tab):
    tab.write_in_other_tab(THEIRS, told=False)
    tab.browser.evaluate(BACK)
    assert tab.text == THEIRS
