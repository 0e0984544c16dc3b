"""Exercises solved and checked on a page, in a real browser, with the security policy that the book states."""

import json
import re
import shutil
import subprocess
import sys
import zipfile
from urllib.parse import urlsplit

import pytest

from book.serve import POLICY, serving
from check.key import load
from tests.book.conftest import ROOT, build_book
from tests.book.live.conftest import N_EXERCISES
from tests.book.live.reader import RIGHT, Page, only_in_chromium
from tests.browsers.devtools import Browser
from tests.patience import SECONDS

pytestmark = pytest.mark.book

WRONG = """def softmax(scores):
    shifted = np.exp(scores - scores.max())
    return shifted / shifted.sum(axis=0)
"""
WITH_A_HELPER = """def share(row):
    return row / row.sum(axis=-1, keepdims=True)


def softmax(scores):
    return share(np.exp(scores - scores.max(axis=-1, keepdims=True)))
"""
WEIGHTS = """def attention_weights(queries, keys):
    if queries.shape[-1] != keys.shape[-1]:
        raise ValueError
    return softmax(queries @ np.swapaxes(keys, -1, -2) / math.sqrt(keys.shape[-1]))
"""
EXPLANATION = "document.querySelector('details.explanation')"  # the first explanation is that of softmax
LOCAL = ("file:", "data:", "blob:", "about:")


def test_a_reader_learns_what_is_wrong_and_gets_it_right(page_with_own_python, browser):
    """One test for many answers, because the worker's first answer takes seconds."""
    page = page_with_own_python
    large = [url for url in browser.requested_urls() if "pyodide" in url or url.endswith(".zip")]
    assert large == [], "Python is loaded before the reader asks for it"
    assert page.progress == "0 of 5 exercises pass."

    wrong = page.run("softmax", WRONG)
    assert not wrong.passes and re.match(r"softmax: \d of 4 points\.", wrong.status)
    heard = page.ask("softmax", "box.querySelector('.live-status .visually-hidden').textContent").strip()
    assert len(heard) > 20 and "`" not in wrong.status and heard in wrong.shown.replace("\n", " ")
    assert "Known mistake: normalises over" in wrong.shown and "yours" in wrong.shown
    link = "document.querySelector('#live-softmax .live-output a[href^=\"#\"]')"
    assert browser.evaluate(f"!!document.querySelector({link}.getAttribute('href'))"), "the section to read again"

    assert browser.evaluate(f"{EXPLANATION}.hidden && {EXPLANATION}.offsetHeight === 0")
    assert page.run("softmax", RIGHT).passes
    assert page.progress == "1 of 5 exercises pass."
    assert not browser.evaluate(f"{EXPLANATION}.hidden")
    # The reader's functions above can be called. A wrong one is named.
    assert page.run("attention_weights", WEIGHTS).passes
    page.write("softmax", WRONG)
    broken = page.run("attention_weights")
    assert "It calls softmax, which is also wrong. Fix that first." in broken.shown
    page.write("softmax", "def softmax(scores:")
    assert "their code above raises an error: softmax." in page.run("attention_weights").shown

    blank = page.run("attention", page.source("attention"))
    assert "not written yet" in blank.shown and not blank.passes
    assert page.run("softmax", WITH_A_HELPER).passes
    renamed = page.run("softmax", RIGHT.replace("def softmax", "def my_softmax"))
    assert not renamed.passes and renamed.shown == "This cell does not define softmax."
    syntax = page.run("softmax", "def softmax(scores):\n    return (scores")
    assert "line 2" in syntax.shown and "SyntaxError" in syntax.shown
    other = page.run("softmax", "softmax = np.exp")
    assert not other.passes, "another function's name"
    assert not page.run("softmax", "raise SystemExit").passes

    loud = page.run("softmax", "for i in range(100_000): print(i)\n" + RIGHT)
    assert loud.passes and "characters more" in loud.shown and len(loud.shown) < 12_000
    greedy = page.run("softmax", "def softmax(scores):\n    return np.empty(250_000_000)")
    assert "MemoryError" in greedy.shown

    page.write("softmax", "while True: pass")
    page.press("softmax", "Run & check")
    browser.wait("!document.querySelector('#live-softmax .live-bar button:nth-child(2)').hidden")
    page.press("softmax", "Stop")
    assert page.finish("softmax").shown.startswith("Stopped.")
    assert page.run("softmax", RIGHT).passes
    page.run("attention", WRONG)
    assert browser.complaints() == [] and browser.exceptions() == []
    hosts = {urlsplit(url).netloc for url in browser.requested_urls() if not url.startswith(LOCAL)}
    assert hosts == {urlsplit(page.site).netloc}, "the page loads files from another machine"
    if isinstance(browser, Browser):  # Firefox has no command for this
        assert browser.text_in_fonts_of_the_machine() == {}, "book/fonts/make.py has to add these characters"


# Record what a screen reader reads aloud while code runs. Its part of the page changes at once, and not after seconds.
LISTEN = """(() => {
  const later = setTimeout;
  window.setTimeout = (act, wait, ...given) => later(act, wait === 7000 ? 0 : wait, ...given);
  window.heard = [];
  const status = document.querySelector("#live-softmax [role=status]");
  new MutationObserver(() => heard.push(status.textContent)).observe(status, { childList: true });
})()"""
# The text of an exercise that a screen reader finds when its user moves through the page.
FOUND = """(() => {
  const copy = document.getElementById("live-softmax").cloneNode(true);
  copy.querySelectorAll("[aria-hidden=true], [hidden], .live-editor").forEach((element) => element.remove());
  return copy.textContent;
})()"""


def test_a_verdict_is_read_aloud_once_and_found_once(page, browser):
    browser.evaluate(LISTEN)
    page.run("softmax", WRONG)
    headline = page.ask("softmax", "box.querySelector('.live-output .verdict strong + strong').textContent")
    diagnosis = page.ask("softmax", "box.querySelector('.live-status .visually-hidden').textContent").strip()
    heard = browser.evaluate("heard")
    assert [headline in text for text in heard].count(True) == [diagnosis in text for text in heard].count(True) == 1
    browser.wait("!!document.querySelector('#live-softmax [role=status] > [aria-hidden=true]')")
    found = browser.evaluate(FOUND)
    assert found.count(headline) == found.count(diagnosis) == 1
    assert page.run("softmax", RIGHT).status == "All cases pass."
    assert browser.evaluate("heard.at(-1)") == "All cases pass.", "the status can still be heard"


def test_links_lead_to_each_exercise_and_to_the_next_one(page, browser):
    links = "document.querySelector('.live-links').innerText.trim().split(/\\s+/).join(' ')"
    assert browser.evaluate(links).startswith("○ softmax ○ attention_weights")
    browser.evaluate("document.querySelector('.live-links a').click()")
    top = "document.querySelector('#live-softmax').getBoundingClientRect().top"
    browser.wait(f"0 <= {top} && {top} < innerHeight")
    assert page.run("softmax", RIGHT).passes
    assert browser.evaluate(links).startswith("✓ softmax ○ attention_weights")
    next_link = "document.querySelector('#live-softmax .live-hints a')"
    assert browser.evaluate(f"{next_link}.hash") == "#live-attention_weights"
    page.open()
    assert browser.evaluate(f"{next_link}.innerText") == "attention_weights"


def test_code_that_is_written_during_a_run_is_not_marked_as_passing(page, browser):
    page.write("softmax", "import time\ntime.sleep(1)\n" + RIGHT)
    page.press("softmax", "Run & check")
    browser.wait("document.querySelector('#live-softmax .live-status').textContent === 'Running …'")
    page.write("softmax", WRONG)
    answer = page.finish("softmax")
    assert not answer.passes
    assert answer.status == "All cases passed. You have changed the code since."
    assert page.progress == "0 of 5 exercises pass."
    page.open()
    assert page.progress == "0 of 5 exercises pass."


def test_answers_are_saved_as_a_notebook_to_hand_in_and_loaded_again(page, browser, book):
    page.write("softmax", RIGHT)
    # Catch the file instead of downloading it.
    browser.evaluate("URL.createObjectURL = blob => { window.taken = blob; return '#' }")
    save = "[...document.querySelectorAll('.live-answers button')]"
    browser.evaluate(f"{save}[0].click()")
    browser.wait("!!window.taken")
    (released,) = (book / "_build" / "html" / "_static" / "live").glob("01_attention-*.ipynb")
    before, after = json.loads(released.read_text()), json.loads(browser.evaluate("window.taken.text()"))
    about = [cell["metadata"]["nbgrader"] for cell in after["cells"]]
    assert about == [cell["metadata"]["nbgrader"] for cell in before["cells"]]
    changed = [new for new, old in zip(after["cells"], before["cells"], strict=True) if new["source"] != old["source"]]
    assert [cell["metadata"]["nbgrader"]["grade_id"] for cell in changed] == ["softmax"]
    assert "".join(changed[0]["source"]) == RIGHT

    page.write("softmax", "# something else")
    brought = "const sent = new DataTransfer(); sent.items.add(new File([window.taken], 'mine.ipynb'));"
    brought += "const field = document.querySelector('.live-file'); field.files = sent.files;"
    browser.evaluate(f"{{{brought} field.dispatchEvent(new Event('change'))}}")
    status = "document.querySelector('.live-answers .live-status').textContent"
    browser.wait(f"{status}.startsWith('Loaded: softmax.')")
    assert page.source("softmax") == RIGHT.rstrip()
    browser.evaluate("window.taken = new Blob(['no notebook'])")
    browser.evaluate(f"{{{brought} field.dispatchEvent(new Event('change'))}}")
    browser.wait(f"{status} === 'This file is not a notebook.'")


@pytest.mark.parametrize(("text", "passes"), [(RIGHT, True), (WRONG, False)])
def test_what_passed_before_the_exercise_changed_is_checked_again(page, browser, text, passes):
    state = {"version": "another", "source": text, "passing": text, "failed": 0}
    browser.evaluate(f"bookStorage.write('exercise softmax', {json.dumps(state)})")
    page.open()
    assert page.source("softmax") == text
    assert page.progress == "1 of 5 exercises pass."
    page.ask("softmax", "box.scrollIntoView()")
    browser.wait(f"bookStorage.read('exercise softmax').passing {'!' if passes else '='}== undefined")
    browser.wait(f"document.querySelector('.live-progress').textContent === '{int(passes)} of 5 exercises pass.'")
    assert page.source("softmax") == text


def test_a_changed_exercise_shows_its_new_stub_and_keeps_the_old_answer(page, browser):
    state = {"version": "another", "source": "# of an earlier stub", "failed": 7}
    browser.evaluate(f"bookStorage.write('exercise softmax', {json.dumps(state)})")
    page.open()
    assert page.progress == "0 of 5 exercises pass."
    assert "has changed" in page.ask("softmax", "box.querySelector('.live-status').textContent")
    page.press("softmax", "Bring back what I wrote")
    assert page.source("softmax") == "# of an earlier stub"


def test_pasted_text_is_cleaned_on_request(page):
    pasted = "```python\n>>> " + RIGHT.strip().replace("\n", "\n... ").replace("    ", "\u00a0   ") + "\u200b\n```"
    assert not page.run("softmax", pasted).passes
    page.press("softmax", "Clean it and run again")
    assert page.finish("softmax").passes
    assert page.source("softmax") == RIGHT.strip()


def test_an_old_verdict_is_dimmed_while_the_code_runs_again(page):
    page.run("softmax", "x = 1")
    outdated = "box.querySelector('.live-output').matches('.live-outdated')"
    assert page.ask("softmax", f"(box.querySelector('.live-run').click(), {outdated})")
    page.finish("softmax")
    assert not page.ask("softmax", outdated)


@pytest.mark.thorough("questions without storage are tested")
def test_it_works_without_storage(browser, site, lasting_python):
    """In the private windows of some browsers, access to the storage raises an error."""
    refuse = "Object.defineProperty(window, 'localStorage', {get() { throw new DOMException('no', 'SecurityError') }})"
    with browser.before_each_page(refuse):
        page = Page(browser, site)
        page.open()
        assert page.run("softmax", RIGHT).passes
        assert page.progress.startswith("1 of 5 exercises pass. This browser does not store")


@pytest.mark.thorough("test_lending shows the same in a book that also lends")
@only_in_chromium
def test_a_later_page_uses_answers_that_pass_on_an_earlier_page(page, browser):
    later = Page(browser, page.site, "02_backward")
    later.open()
    calls = "def softmax_backward(grad_weights, weights):\n    return softmax(weights)\n"
    missing = later.run("softmax_backward", calls)
    assert missing.status == "Waits for softmax."
    assert "waits for softmax: solve it in chapter 1. Then run it again. If you take a course" in missing.shown
    assert "Borrow" not in later.ask("softmax_backward", "box.innerText"), "this book lends nothing"
    helper = "from solutions.attention import scaled_scores\n" + calls.replace(
        "softmax(weights)", "scaled_scores(1, 2)"
    )
    assert later.run("softmax_backward", helper).shown.endswith(
        "this page does not have. Write it yourself. Then run it again."
    )
    version = browser.evaluate(
        "fetch('01_attention.html').then(r => r.text()).then(t => JSON.parse(new DOMParser()"
        ".parseFromString(t, 'text/html').getElementById('live-exercises').textContent).exercises[0].version)"
    )
    state = json.dumps({"version": version, "passing": RIGHT})
    browser.evaluate(f"bookStorage.write('exercise softmax', {state})")
    solved = later.run("softmax_backward", calls)
    assert "points" in solved.shown and not solved.passes


@pytest.mark.thorough("test_lending opens hints after three runs")
@only_in_chromium
def test_hints_and_then_the_explanation_are_offered_after_three_failed_runs(page, browser):
    offered = "document.querySelector('#live-softmax .live-hints button')"
    for _ in range(3):
        assert browser.evaluate(f"{offered} === null")
        page.run("softmax", WRONG)
    for number in (1, 2):
        assert browser.evaluate(f"{EXPLANATION}.hidden")
        assert browser.evaluate(f"{offered}.textContent").startswith(f"Open Hint {number}")
        browser.evaluate(f"{offered}.click()")
        assert browser.evaluate("document.activeElement.closest('details').open")
        browser.wait(f"!{offered}?.textContent.startsWith('Open Hint {number}')")
    assert not browser.evaluate(f"{EXPLANATION}.hidden")
    assert browser.evaluate(f"{offered}.textContent") == "Open Explanation, in words"
    browser.evaluate(f"{offered}.click()")
    browser.wait(f"!{offered}")
    assert browser.evaluate(f"document.activeElement.closest('details') === {EXPLANATION} && {EXPLANATION}.open")

    page.open()
    assert browser.evaluate(f"{EXPLANATION}.hidden"), "its hints are closed again"
    hint = f"{EXPLANATION}.previousElementSibling"
    browser.evaluate(f"[{hint}, {hint}.previousElementSibling].forEach(fold => {{ fold.open = true; }})")
    browser.wait(f"!{EXPLANATION}.hidden")


def test_the_keyboard_reaches_everything(page_with_textareas, browser):
    page = page_with_textareas
    page.focus("softmax")
    browser.evaluate("document.activeElement.select()")
    keys = ("Backspace", "Tab", "def f():", "Enter", "if 1:", "Enter", "pass", "Enter", "Tab", "y", "Enter")
    for key in keys:
        if key in ("Backspace", "Tab", "Enter"):
            browser.press(key)
        else:
            browser.type(key)
    written = "document.activeElement.value"
    assert browser.evaluate(written) == "    def f():\n        if 1:\n            pass\n            y\n            "
    browser.press("Backspace")
    assert browser.evaluate(f"{written}.endsWith('y\\n        ')")
    browser.press("Enter", shift=True)
    assert "IndentationError" in page.finish("softmax").shown
    assert page.is_in_editor
    for key, focused in (("Escape", ""), ("Tab", "Run & check"), ("Tab", "Reset")):
        browser.press(key)
        assert not focused or browser.evaluate("document.activeElement.textContent") == focused
    described = "document.getElementById(document.querySelector('textarea').getAttribute('aria-describedby'))"
    assert "press Escape, then Tab" in browser.evaluate(f"{described}.textContent")


@pytest.mark.thorough("every page in the browser is tested on a phone")
def test_a_page_with_textareas_fits_a_phone(page_with_textareas, browser):
    page = page_with_textareas
    page.write("softmax", "x = " + "'a very long line' + " * 30 + "''")
    page.open(width=390, dark=True)
    for dark in (True, False):
        browser.prefer(dark)
        browser.wait(f"document.documentElement.dataset.theme === '{'dark' if dark else 'light'}'")
        assert browser.evaluate("document.documentElement.scrollWidth") <= 390
        assert browser.evaluate("document.querySelector('.live-textarea').scrollWidth") > 390
        # The coloured copy covers the text field exactly.
        boxes = "[...document.querySelectorAll('#live-softmax .live-textarea > *')].map(e => e.getBoundingClientRect())"
        assert browser.evaluate(
            f"{boxes}.map(b => [b.left, b.top, b.width, b.height].join()).every((b, i, all) => b === all[0])"
        )


def test_a_page_opened_from_the_disk_says_how_to_serve_the_book(book, browser):
    requested = browser.open((book / "_build" / "html" / "chapters" / "01_attention.html").as_uri())
    assert [url for url in requested if not url.startswith(LOCAL)] == []
    assert "make serve" in browser.evaluate("document.querySelector('.live-progress').textContent")
    assert browser.evaluate("document.querySelectorAll('.live').length") == 0
    assert browser.complaints() == [] and browser.exceptions() == []


def test_a_page_that_was_used_works_offline(book, browser, tmp_path):
    """The book is below a folder of the server here."""
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "book").symlink_to(book / "_build" / "html")
    with serving(tmp_path) as address:
        page = Page(browser, f"{address}/some/book")
        page.open()
        assert browser.evaluate("caches.keys().then(names => names.length)") == 0, "nothing is kept before it is used"
        assert page.run("softmax", RIGHT).passes
        kept = "caches.match('/some/book{}').then(response => !!response)"
        wheel = browser.evaluate(
            "JSON.parse(document.getElementById('live-exercises').textContent).python.find(name => /whl$/.test(name))"
        )
        (folder,) = (book / "_build" / "html" / "_static" / "live").glob("*/pyodide")
        asset = f"/_static/live/{folder.parent.name}/pyodide/{wheel}"
        browser.wait(kept.format(asset))
        browser.wait(kept.format(f"/chapters/{page.chapter}.html"))
        browser.open(f"{address}/some/book/search.html")
        assert browser.evaluate("navigator.serviceWorker.ready.then(() => !!navigator.serviceWorker.controller)")
        assert not browser.evaluate(kept.format("/search.html")), "a page that was only visited is not kept"
        assert browser.evaluate("caches.keys()") == ["book /some/book/"], "two books have two caches"
    page.open()
    assert page.progress == "1 of 5 exercises pass."
    assert page.run("softmax", WITH_A_HELPER).passes
    browser.wait("document.querySelectorAll('#live-softmax .cm-content').length === 1")
    page.chapter = "progress"
    page.open()
    assert browser.evaluate("document.querySelector('.live-total').textContent").startswith(
        f"1 of {N_EXERCISES} exercises passed"
    )


def test_each_exercise_shows_examples_of_what_its_check_prints(book):
    html = (book / "_build" / "html" / "chapters" / "01_attention.html").read_text()
    examples = html.count("Examples of feedback")
    assert html.count("Example: a common mistake") == html.count("Example: a right solution") == examples > 4
    assert html.count("verdict-pass") == examples and html.count("Known mistake: ") >= examples


def test_the_examples_stay_closed_with_a_server_and_without(book, site, browser, without_python):
    seen = "[...document.querySelectorAll('.live-examples')].map(box => [box.innerText.trim(), box.offsetHeight < 60])"
    for address in ((book / "_build" / "html").as_uri(), site):
        browser.open(f"{address}/chapters/01_attention.html")
        assert set(map(tuple, browser.evaluate(seen))) == {("Examples of feedback", True)}
    browser.evaluate("document.querySelector('.live-examples summary').click()")
    shown = browser.evaluate("document.querySelector('.live-examples').innerText")
    assert "Example: a common mistake" in shown and "Known mistake: " in shown


@pytest.mark.thorough("figures, formulas and bundles are each made twice in other tests")
def test_a_second_build_gives_the_same_bytes(book, tmp_path):
    copy = shutil.copytree(book, tmp_path / "copy")

    def everything():
        files = [*(copy / "_build" / "html" / "chapters").glob("*.html")]
        files += (copy / "_build" / "html" / "_static" / "live").rglob("*.*")
        # Sphinx computes the checksums of some style sheets only if these exist already.
        return {file: re.sub(rb"\?v=\w+", b"", file.read_bytes()) for file in files if file.is_file()}

    first = everything()
    build_book(copy, "--all")
    assert everything() == first


def test_the_licences_are_included(book):
    (folder,) = (book / "_build" / "html" / "_static" / "live").glob("*/licences")
    assert {file.name for file in folder.iterdir()} == {
        *("README.md", "codemirror-MIT.txt", "pyodide-MPL-2.0.txt", "python-PSF.txt")
    }
    assert "Mozilla Public License" in (folder / "pyodide-MPL-2.0.txt").read_text()


def test_the_book_states_the_policy():
    assert POLICY in " ".join((ROOT / "chapters" / "operating.md").read_text(encoding="utf-8").split())


def test_the_bundles_of_the_pages_use_the_reader_s_answers(book, tmp_path):
    """Unzip chapter 2 into the folder of chapter 1, with only NumPy. It then uses the reader's solutions."""
    html = (book / "_build" / "html" / "chapters" / "02_backward.html").read_text()
    assert re.search(r'<a href="\.\./_static/live/02_backward-\w+\.zip" download="02_backward\.zip">', html)
    for file in (book / "_build" / "html" / "_static" / "live").glob("*.zip"):
        zipfile.ZipFile(file).extractall(tmp_path)
    notebook = json.loads((tmp_path / "01_attention.ipynb").read_text())
    (cell,) = (cell for cell in notebook["cells"] if cell["metadata"]["nbgrader"]["grade_id"] == "softmax")
    cell["source"] = [RIGHT]
    (tmp_path / "01_attention.ipynb").write_text(json.dumps(notebook))
    code = """
import numpy as np
from check import check
from solutions.attention import attention, softmax
check(softmax)
try:
    attention(1, 2, 3)
except Exception as error:
    print(error)
"""
    ran = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert ran.returncode == 0, ran.stderr
    assert "✓ softmax: all 13 cases pass." in ran.stdout
    assert "`attention` is an exercise of chapter 1, and is not solved there yet" in ran.stdout


def test_one_file_contains_all_chapters_with_keys_of_its_own(book, tmp_path):
    static = book / "_build" / "html" / "_static"
    html = (static.parent / "chapters" / "02_backward.html").read_text()
    assert '<a href="../_static/self-study.zip" download>all chapters in one file</a>' in html
    zipfile.ZipFile(static / "self-study.zip").extractall(tmp_path / "all")
    for file in static.glob("live/[0-9]*.zip"):
        zipfile.ZipFile(file).extractall(tmp_path / "one")
    names = {folder: {file.name for file in (tmp_path / folder).rglob("*.*")} for folder in ("all", "one")}
    assert names["all"] == names["one"] >= {"01_attention.ipynb", "02_backward.ipynb", "softmax.npz"}
    keys = [load(tmp_path / folder / "check/keys/softmax.npz") for folder in names]
    assert keys[0].digest != keys[1].digest, "other numbers"
    code = "from check import check\nimport numpy as np\n" + RIGHT + "check(softmax)\n"
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path / "all", capture_output=True, text=True, timeout=SECONDS
    )
    assert "✓ softmax: all 13 cases pass." in ran.stdout, ran.stderr
