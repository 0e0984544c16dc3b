"""Scripts in everything that a student can write: no page made from it runs one, in a real browser."""

import copy
import json
import re
import shutil
from pathlib import Path

import pytest
from nbconvert.exporters import HTMLExporter
from nbgrader.server_extensions.formgrader import handlers
from traitlets.config import Config

from autograder.cli.main import main
from autograder.course.configuration import nbgrader_config
from autograder.gradebook import class_run
from tests.attacks.attack import HONEST_POINTS, dump, own_cell
from tests.attacks.conftest import CHAPTER, FULL
from tests.attacks.dressing import only_honest
from tests.autograder.gradebook.graded_course import computed_scores

pytestmark = pytest.mark.attacks

SCRIPTS = (
    "<script>window.harm = 'script'</script>",
    "<img src=x onerror=\"window.harm = 'img'\">",
    "<svg onload=\"window.harm = 'svg'\"></svg>",
    "<details open ontoggle=\"window.harm = 'details'\"><summary>x</summary></details>",
    "<a href=\"javascript:void(window.harm = 'link')\">x</a>",
    "<a href=\"java\tscript:void(window.harm = 'tab')\">x</a>",
    "[x](javascript:void(window.harm='markdown'))",
    "[x]: javascript:void(window.harm='reference')\n\n[x]",
    "<javascript:void(window.harm='autolink')>",
    "<iframe srcdoc=\"<script>parent.harm = 'srcdoc'</script>\"></iframe>",
    "<iframe src=\"javascript:void(parent.harm = 'frame')\"></iframe>",
    "<form action=\"javascript:void(window.harm = 'form')\"><button>x</button></form>",
    "<b onmouseover=\"window.harm = 'mouse'\" style='position:fixed;inset:0'>x</b>",
    "<math><maction actiontype='statusline' xlink:href=\"javascript:void(window.harm = 'math')\">x</maction></math>",
    "$\\href{javascript:void(window.harm='tex')}{x}$ $$\\unicode{<img src=x onerror=window.harm='tex'>}$$",
    "<style>@import 'https://harm.example/x.css'</style><link rel=stylesheet href=https://harm.example/x.css>",
    "<base href=https://harm.example/><meta http-equiv=refresh content='0;url=javascript:window.harm=1'>",
    "```html\n</code></pre></textarea></title></style></script><script>window.harm = 'fence'</script>\n```",
    "<noscript><p title=\"</noscript><img src=x onerror=window.harm='mutation'>\"></noscript>",
    "<svg><style><img src=x onerror=\"window.harm = 'foreign'\"></style></svg>",
)
ALL = "\n\n".join(SCRIPTS)
NEVER = "iframe, object, embed, form, base, link, meta[http-equiv=refresh]"
# Events that a reader may cause by accident: clicks, pointing, opening.
TOUCH = """(() => {
  for (const element of document.querySelectorAll('*'))
    for (const event of ['mouseover', 'mouseenter', 'focus', 'toggle', 'load', 'error', 'click'])
      if (event !== 'click' || !element.closest('[href]') || /^(java|vb)script:/.test(element.closest('[href]').href))
        element.dispatchEvent(new MouseEvent(event, {bubbles: true, cancelable: true}));
  return new Promise(done => setTimeout(() => done(window.harm || ''), 200));
})()"""


def hostile(perfect):
    """Return a notebook with scripts in its cells, outputs, names, ids, tags, messages and metadata."""
    notebook = only_honest(perfect)
    html = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"text/html": ALL, "application/javascript": "harm=1"},
    }
    solved = {cell["id"]: cell for cell in notebook["cells"]}
    name = "</code></pre><img src=x onerror=window.harm=1>"
    solved["attention"]["source"] = (
        f"# {ALL!r}\ndef attention(*args):\n    raise type({name!r}, (Exception,), {{}})({ALL!r})"
    )
    solved["repaired_attention"]["source"] = f"def repaired_attention(*args):\n    return type({name!r}, (), {{}})()"
    solved["copies_predecessor"]["source"] = f"def copies_predecessor(**sizes):\n    return {{{name!r}: 1}}"
    solved["softmax"]["outputs"] = [html]
    notebook["cells"] += [own_cell("markdown", script, id=f"own-{n}") for n, script in enumerate(SCRIPTS)]
    notebook["cells"] += [
        own_cell("code", f"'''{ALL}'''\nraise ValueError({ALL!r})", id=name, metadata={"tags": [ALL]})
    ]
    notebook["cells"] += [own_cell("raw", ALL, id="raw"), own_cell("code", f"%{ALL}", id="magic")]
    notebook["metadata"] = {"kernelspec": {"name": ALL, "display_name": ALL}, "title": ALL, "authors": [{"name": ALL}]}
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown" and cell["metadata"].get("nbgrader", {}).get("solution"):
            cell["source"] = ALL
    return notebook


STUDENTS = ("mallory", "<img src=x onerror=window.harm=1>", "$(touch escaped)'\"&amp;=1+1")


@pytest.fixture(scope="module")
def pages(released_course, perfect, tmp_path_factory):
    """A course with the feedback and the report on a class of hostile students and an honest one."""
    course = shutil.copytree(released_course, tmp_path_factory.mktemp("pages") / "course")
    broken = dump(hostile(perfect))[:-9]
    files = {**dict.fromkeys(STUDENTS, hostile(perfect)), "honest": perfect, "broken": broken, "misnamed": None}
    for student, content in files.items():
        folder = course / "submitted" / student / CHAPTER
        folder.mkdir(parents=True)
        name = f"{CHAPTER}.ipynb" if content else "<img src=x onerror=window.harm=1>.ipynb"
        content = copy.deepcopy(content) or perfect
        (folder / name).write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    class_run.grade_class(course, CHAPTER)
    assert main(["report", CHAPTER, "--course", str(course)]) == 0
    return course


def test_scripts_in_a_notebook_change_no_score(pages):
    scores = {student: sum(points.values()) for student, points in computed_scores(pages).items()}
    assert scores == {**dict.fromkeys(STUDENTS, HONEST_POINTS), "honest": FULL, "broken": 0, "misnamed": 0}


def test_the_detector_notices_a_script_that_runs(browser, tmp_path):
    for number, script in enumerate((*SCRIPTS[:5], *SCRIPTS[9:13])):
        page = tmp_path / f"{number}.html"
        page.write_text(f"<!doctype html><title>x</title>{script}", encoding="utf-8")
        browser.open(page.as_uri())
        assert browser.evaluate(TOUCH), f"this should have run: {script}"


def test_no_page_runs_a_script_or_requests_anything(pages, browser):
    files = [*sorted((pages / "feedback").rglob("*.html")), *sorted((pages / "report").rglob("*.html"))]
    assert len(files) >= 7
    for page in files:
        requests = browser.open(page.as_uri())
        assert [url for url in requests if not url.startswith(("file:", "data:"))] == [], page
        assert browser.evaluate(TOUCH) == "", page
        assert browser.evaluate(f"document.querySelectorAll({NEVER!r}).length") == 0, page


def test_formgrader_runs_no_script_and_requests_nothing_from_other_machines(pages, browser, tmp_path):
    formgrade = {"template_name": "formgrade", "extra_template_basedirs": [handlers.template_path]}
    config = nbgrader_config(pages)
    config.merge(Config(HTMLExporter=formgrade))
    names = ("assignment_id", "notebook_id", "submission_id", "student", "last_name", "first_name")
    resources = {**dict.fromkeys((*names, "notebook_path", "base_url"), "x"), "index": 0, "total": 1}
    notebook = pages / "autograded" / "mallory" / CHAPTER / f"{CHAPTER}.ipynb"
    html, _ = HTMLExporter(config=config).from_filename(str(notebook), resources=resources)
    page = tmp_path / "formgrade.html"
    page.write_text(html, encoding="utf-8")
    requests = browser.open(page.as_uri())
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert browser.evaluate(TOUCH) == ""
    loads = r"<(?:script|link|img|iframe|object|embed)\b[^>]*?(?:src|href|data)\s*=\s*[\"']?(?:https?:)?//"
    assert not re.search(loads, html, re.I) and "<math" in html
    # formgrader's script continues when MathJax signals that it is done, and uses nothing else of it.
    script = (Path(handlers.static_path) / "js" / "formgrade.js").read_text(encoding="utf-8")
    assert set(re.findall(r"MathJax[\w.]*", script)) == {"MathJax.loaded", "MathJax.Hub.Startup.signal.Interest"}
    assert browser.evaluate("new Promise(done => MathJax.Hub.Startup.signal.Interest(done))") == "End"
