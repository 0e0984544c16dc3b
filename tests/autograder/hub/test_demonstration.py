"""A course on a JupyterHub: the whole demonstration of autograder/hub/deploy/, with accounts of this machine."""

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
from tests.patience import SECONDS

ROOT = Path(__file__).resolve().parents[3]
HUB = ROOT / ".hub"

MENUS, ENTRIES, BUTTONS = (
    f"[...document.querySelectorAll({selector!r})]"
    for selector in (".lm-MenuBar-itemLabel", ".lm-Menu-itemLabel", "button.btn-primary")
)

FORMGRADERS = "[...document.querySelectorAll('#main-table a')].map(a => [a.innerText, a.pathname])"

pytestmark = [pytest.mark.hub, pytest.mark.thorough("sets up and tests a JupyterHub")]


@pytest.fixture(scope="module")
def demonstration():
    """Return what the demonstration printed and what a browser saw in it. Skip, with a reason, if it cannot run."""
    if os.geteuid():
        pytest.skip("NOT ROOT: the hub was not tested, because that creates accounts. Run `sudo make hub-demo`.")
    if not (HUB / ".done").exists() or not (ROOT / ".venv/.formgrader").exists():
        pytest.skip("NO HUB: it was not tested. Set it up with `make hub formgrader`, which needs npm and the network.")
    if any(not folder.stat().st_mode & 0o001 for folder in HUB.resolve().parents):
        pytest.skip(f"HUB NOT READABLE: it was not tested, because students' accounts cannot read {HUB}.")
    command = [sys.executable, "-u", ROOT / "autograder/hub/deploy/demo.py", "--stay"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, **pipes, text=True) as process:
        lines, seen = [], None
        try:
            for line in process.stdout:
                lines.append(line)
                if "keeps running" in line and find_browser():
                    seen = seen_in_jupyterlab("".join(lines))
                if "keeps running" in line:
                    break
        finally:
            lines += process.communicate("\n", timeout=SECONDS)[0]
    assert process.returncode == 0, "".join(lines)
    return "".join(lines), seen


def seen_in_jupyterlab(printed):
    """Log in as an instructor who has fetched nothing yet, press Fetch and Submit, and open the course list.

    Returns the menus and buttons that were there at each step, and what formgrader shows.
    """
    address = re.search(r"listens at (\S+)", printed)[1]
    name, password = re.search(r"log in as (ines-\w+), password (\S+)", printed).groups()
    seen = []
    with Browser(find_browser()) as browser:
        browser.open(f"{address}/hub/login")
        browser.evaluate(f"""(form => {{
            form.username.value = {name!r}; form.password.value = {password!r}; form.submit()
        }})(document.querySelector("form[action*=login]"))""")
        browser.wait(f"location.pathname.startsWith('/user/{name}/lab') && {MENUS}.length > 5")
        browser.wait("!document.querySelector('#jupyterlab-splash')")
        for menu, label in ((MENUS, "Nbgrader"), (ENTRIES, "Assignment List"), (BUTTONS, "Fetch"), (BUTTONS, "Submit")):
            browser.wait(f"{menu}.some(item => item.innerText === {label!r} && item.offsetWidth)")
            seen.append(browser.evaluate(f"{menu}.map(item => item.innerText).filter(Boolean)"))
            click(browser, f"{menu}.find(item => item.innerText === {label!r})")
        browser.wait(f"{BUTTONS}.some(item => item.innerText === 'Fetch Feedback')")
        for menu, label in ((MENUS, "Nbgrader"), (ENTRIES, "Course List")):
            browser.wait(f"{menu}.some(item => item.innerText === {label!r} && item.offsetWidth)")
            click(browser, f"{menu}.find(item => item.innerText === {label!r})")
        course = "document.querySelector('#formgrader_list a, a[href*=formgrader]')"
        browser.wait(f"!!{course}")
        browser.open(browser.evaluate(f"{course}.href"))  # a click would open it in another tab
        browser.wait(f"{FORMGRADERS}.length > 0")
        shown = browser.evaluate(f"[location.pathname, {FORMGRADERS}]")
        browser.open(address + shown[1][0][1])
        browser.wait("document.body.innerText.includes('01_attention.ipynb')")
    return seen, shown


def click(browser, element):
    """Click with the mouse, because JupyterLab's menus react to its position."""
    middle = "box => [box.x + box.width / 2, box.y + box.height / 2]"
    x, y = browser.evaluate(f"({middle})(({element}).getBoundingClientRect())")
    for kind, button in (("mouseMoved", "none"), ("mousePressed", "left"), ("mouseReleased", "left")):
        browser.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, clickCount=1)


def test_two_students_read_their_feedback(demonstration):
    printed, _ = demonstration
    named = dict(re.findall(r"^(\w+)-\w+ has fetched feedback .* It names a mistake: (\w+)$", printed, re.M))
    assert named == {"ada": "no", "ben": "yes"}
    scores = dict(re.findall(r"^(\w+)-\w+ .* (\d+)$", printed, re.M))
    assert scores == {"ada": "22", "ben": "17"}


def test_a_student_cannot_list_folders_of_instructors_or_other_students(demonstration):
    answers = re.findall(r"can list (.*): (\w+)$", demonstration[0], re.M)
    assert len(answers) == 4 and {answer for _, answer in answers} == {"no"}


def test_the_buttons_of_jupyterlab_fetch_and_submit(demonstration):
    (menus, *pressed), _ = seen_by_browser(demonstration)
    assert "Nbgrader" in menus
    assert pressed == [["Assignment List", "Course List"], ["Fetch"], ["Submit"]]


def test_instructors_share_formgrader_and_students_do_not(demonstration):
    printed, _ = demonstration
    assert re.search(r"^ines-\w+ sees in the course list: default_course$", printed, re.M)
    seen = dict(re.findall(r"^(\w+)-\w+ (.* formgrader)$", printed, re.M))
    refused = "may not open formgrader"
    assert seen == {"ines": "sees 2 submissions in formgrader", "ivo": refused, "ada": refused}


def test_the_instructor_of_another_course_sees_only_that_one(demonstration):
    assert re.search(r"^ivo-\w+ sees in the course list: other_course$", demonstration[0], re.M)


def test_the_log_names_the_instructor_who_set_a_score_in_formgrader(demonstration):
    assert re.search(r" ines-\w+ +ben-\w+ +01_attention .* by hand in formgrader$", demonstration[0], re.M)


def test_the_course_list_opens_formgrader_and_its_links_work(demonstration):
    _, (path, links) = seen_by_browser(demonstration)
    assert path == "/services/default_course/formgrader/manage_assignments"
    assert links[0] == ["01_attention", "/services/default_course/tree/source/01_attention"]


def seen_by_browser(demonstration):
    if demonstration[1] is None:
        pytest.skip("NO CHROMIUM: JupyterLab was not tested in a browser. Install one: `apt-get install chromium`.")
    return demonstration[1]


def test_the_demonstration_removes_its_folder_its_accounts_and_its_processes(demonstration):
    printed, _ = demonstration
    (folder,) = set(re.findall(r"/\S*/hub-\w+(?=/)", printed))
    assert not Path(folder).exists()
    accounts = set(re.findall(r"^log in as (\w+-[0-9a-f]{6}),", printed, re.M))
    assert len(accounts) == 3 and not accounts & {account.pw_name for account in pwd.getpwall()}
    processes = psutil.process_iter(["cmdline"])
    assert [process for process in processes if folder in " ".join(process.info["cmdline"] or ())] == []
