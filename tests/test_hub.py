"""A course on a JupyterHub: the demonstration of deploy/, whole, with accounts of this machine."""

import os
import pwd
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from book.forms.pdf import find_browser
from tests.browsers.devtools import Browser

ROOT = Path(__file__).resolve().parent.parent
HUB = ROOT / ".hub"

MENUS, ENTRIES, BUTTONS = (
    f"[...document.querySelectorAll({selector!r})]"
    for selector in (".lm-MenuBar-itemLabel", ".lm-Menu-itemLabel", "button.btn-primary")
)

FORMGRADERS = "[...document.querySelectorAll('#main-table a')].map(a => [a.innerText, a.pathname])"

pytestmark = pytest.mark.hub


@pytest.fixture(scope="module")
def demonstration():
    """What the demonstration printed, and what a browser saw in it; skipped, loudly, where it cannot be given."""
    if os.geteuid():
        pytest.skip("NOT ROOT: no hub was tried. It makes accounts: run `sudo make hub-demo`.")
    if not (HUB / ".done").exists() or not (ROOT / ".venv/.formgrader").exists():
        pytest.skip("NO HUB: none was tried. Set one up with `make hub formgrader`, which needs npm and the network.")
    if any(not folder.stat().st_mode & 0o001 for folder in HUB.resolve().parents):
        pytest.skip(f"NO HUB FOR ALL: none was tried. Students' accounts cannot look into {HUB}.")
    command = [sys.executable, "-u", ROOT / "deploy/demo.py", "--stay"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, **pipes, text=True) as process:
        said, seen = [], None
        try:
            for line in process.stdout:
                said.append(line)
                if "stays up" in line and find_browser():
                    seen = in_jupyterlab("".join(said))
                if "stays up" in line:
                    break
        finally:
            said += process.communicate("\n", timeout=120)[0]
    assert process.returncode == 0, "".join(said)
    return "".join(said), seen


def in_jupyterlab(said):
    """Log in as an instructor who has fetched nothing yet, press Fetch and Submit, and open the course list.

    Returns what was there to press, in order, and what formgrader shows.
    """
    address = re.search(r"listens at (\S+)", said)[1]
    name, password = re.search(r"log in as (ines-\w+), password (\S+)", said).groups()
    seen = []
    with Browser(find_browser()) as browser:
        browser.open(f"{address}/hub/login")
        browser.evaluate(f"""(form => {{
            form.username.value = {name!r}; form.password.value = {password!r}; form.submit()
        }})(document.querySelector("form[action*=login]"))""")
        browser.wait(f"location.pathname.startsWith('/user/{name}/lab') && {MENUS}.length > 5", 90)
        browser.wait("!document.querySelector('#jupyterlab-splash')", 60)
        for menu, label in ((MENUS, "Nbgrader"), (ENTRIES, "Assignment List"), (BUTTONS, "Fetch"), (BUTTONS, "Submit")):
            browser.wait(f"{menu}.some(each => each.innerText === {label!r} && each.offsetWidth)", 60)
            seen.append(browser.evaluate(f"{menu}.map(each => each.innerText).filter(Boolean)"))
            click(browser, f"{menu}.find(each => each.innerText === {label!r})")
        browser.wait(f"{BUTTONS}.some(each => each.innerText === 'Fetch Feedback')")
        for menu, label in ((MENUS, "Nbgrader"), (ENTRIES, "Course List")):
            browser.wait(f"{menu}.some(each => each.innerText === {label!r} && each.offsetWidth)")
            click(browser, f"{menu}.find(each => each.innerText === {label!r})")
        course = "document.querySelector('#formgrader_list a, a[href*=formgrader]')"
        browser.wait(f"!!{course}")
        browser.open(browser.evaluate(f"{course}.href"))  # it would be another tab
        browser.wait(f"{FORMGRADERS}.length > 0")
        shown = browser.evaluate(f"[location.pathname, {FORMGRADERS}]")
        browser.open(address + shown[1][0][1])
        browser.wait("document.body.innerText.includes('01_attention.ipynb')", 60)
    return seen, shown


def click(browser, element):
    """A real click: JupyterLab's menus ask where the mouse is."""
    middle = "each => [each.x + each.width / 2, each.y + each.height / 2]"
    x, y = browser.evaluate(f"({middle})(({element}).getBoundingClientRect())")
    for kind, button in (("mouseMoved", "none"), ("mousePressed", "left"), ("mouseReleased", "left")):
        browser.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)


def test_two_students_read_their_feedback(demonstration):
    said, _ = demonstration
    told = dict(re.findall(r"^(\w+)-\w+ has fetched feedback .* reads of a mistake: (\w+)$", said, re.M))
    assert told == {"ada": "no", "ben": "yes"}
    scores = dict(re.findall(r"^(\w+)-\w+ .* (\d+)$", said, re.M))
    assert scores == {"ada": "25", "ben": "20"}


def test_a_student_looks_into_nothing_of_the_instructors_or_of_others(demonstration):
    looked = re.findall(r"can look into (.*): (\w+)$", demonstration[0], re.M)
    assert len(looked) == 4 and {answer for _, answer in looked} == {"no"}


def test_the_buttons_of_jupyterlab_fetch_and_submit(demonstration):
    (menus, *pressed), _ = in_browser(demonstration)
    assert "Nbgrader" in menus
    assert pressed == [["Assignment List", "Course List"], ["Fetch"], ["Submit"]]


def test_instructors_share_formgrader_and_students_do_not(demonstration):
    said, _ = demonstration
    assert re.search(r"^ines-\w+ has in the course list: default_course$", said, re.M)
    told = dict(re.findall(r"^(\w+)-\w+ (.* formgrader)$", said, re.M))
    assert told == {"ines": "sees 2 submissions in formgrader", "ada": "is not let into formgrader"}


def test_the_course_list_leads_to_formgrader_whose_links_lead_on(demonstration):
    _, (place, links) = in_browser(demonstration)
    assert place == "/services/default_course/formgrader/manage_assignments"
    assert links[0] == ["01_attention", "/services/default_course/tree/source/01_attention"]


def in_browser(demonstration):
    if demonstration[1] is None:
        pytest.skip("NO CHROMIUM: JupyterLab was not tried in a browser. Install one, `apt-get install chromium`, say.")
    return demonstration[1]


def test_nothing_is_left_of_it(demonstration):
    said, _ = demonstration
    (folder,) = set(re.findall(r"/\S*/hub-\w+(?=/)", said))
    assert not Path(folder).exists()
    accounts = set(re.findall(r"^log in as (\w+-[0-9a-f]{6}),", said, re.M))
    assert len(accounts) == 3 and not accounts & {account.pw_name for account in pwd.getpwall()}
    assert [each for each in psutil.process_iter(["cmdline"]) if folder in " ".join(each.info["cmdline"] or ())] == []
