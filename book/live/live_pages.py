"""Sphinx extension: let readers write, run and check code in a page, with the book's own `check` in the browser.

Each stub and each other cell gets a name, by which the page's script finds it. Below each check the page shows examples
of its feedback. A page with exercises gets a zip file with `check` and the public keys of a release, and what
`page_scripts.py` adds.
"""

import re
from functools import cache, partial
from pathlib import Path, PurePosixPath

from docutils import nodes
from sphinx.application import Sphinx
from sphinx_design.shared import create_component

from autograder.authoring.exercise import Exercise, exercises_of
from autograder.chapter.chapter import Chapter
from autograder.chapter.reading_time import duration, estimate
from autograder.chapter.targets import Targets, read_targets
from autograder.layout import REPO, chapter_names
from autograder.release.at_hand import all_needed
from autograder.release.build import released_files
from autograder.release.bundle import zipped
from autograder.release.lending import lent_helpers
from book.live import first_exercise
from book.live.built_files import ALL, OUT, store
from book.live.page_data import FRONT, KEY, FrontPage, LivePage, version
from book.live.page_needs import given_cells, module_of, used_functions
from book.live.page_scripts import PROGRESS, Scripts, last_lent
from book.live.self_study import helper_functions, read_late, study_files, with_other_keys
from check import key
from check.checking import Checked, tried

LIVE_HTML = re.compile('class="live-(answers|book|without-scripts)"')
EXAMPLES = "live-examples"  # class of the fold below a check
FOLD = "<details><summary>Examples of feedback</summary>"
COMMON_MISTAKE, RIGHT = "Example: a common mistake", "Example: a right solution"
FIRST = "first-exercise"  # class of the parts of the front page with its exercise


# ------------------------------------------------------------------------------------------------ reading a page


def read_page(app: Sphinx, doctree: nodes.document) -> None:
    """Name the cells of a page with exercises, add examples and the offer of a notebook, and store its data."""
    docname = app.env.docname
    name = docname.rpartition("/")[2]
    stub_cells = _cells(doctree, "tag_exercise")
    if stub_cells and docname == app.config.root_doc and name not in chapter_names():
        return _read_front_page(app, stub_cells[0])
    if not stub_cells or name not in chapter_names():
        return
    chapter = Chapter(name, Path(app.env.doc2path(docname)).read_text(encoding="utf-8"), tuple(exercises_of(name)))
    exercises = {exercise.name: exercise for exercise in chapter.exercises if exercise.name in chapter.stubs}
    released = released_files(chapter, _targets())
    for exercise_name, cell in zip(chapter.stubs, stub_cells, strict=True):
        cell["ids"].append(f"stub-{exercise_name}")
    for cell in _cells(doctree, "tag_check"):
        exercise_name = re.findall(r"check\((\w+)\)", cell.astext())[0]
        cell["ids"].append(f"check-{exercise_name}")
        add_examples(cell, exercises[exercise_name], released)
    helpers = lent_helpers(min(last_lent(app.config), chapter.number - 1)) | helper_functions(chapter)
    about_cells = given_cells(chapter, set(helpers))
    for place, (cell, _) in enumerate(zip(_given(doctree), about_cells, strict=True)):
        cell["ids"].append(f"cell-{place}")
    files = study_files(released, chapter)
    late = read_late(files)
    page = LivePage(
        chapter=name,
        number=chapter.number,
        title=next(doctree.findall(nodes.title)).astext(),
        time=duration(estimate(chapter.text).whole.reading),
        questions=[node["key"] for node in doctree.findall(nodes.Element) if node.tagname == "question"],
        setup=chapter.setup,
        helpers=helpers,
        cells=about_cells,
        sections={
            section[0].astext(): f"#{section['ids'][0]}"
            for section in doctree.findall(nodes.section)
            if isinstance(section[0], nodes.title)  # an exercise is a section without a title
        },
        exercises={exercise_name: version(chapter.stubs[exercise_name]) for exercise_name in exercises},
        elsewhere=[exercise.name for exercise in exercises.values() if isinstance(exercise.reference, type)],
        uses={
            exercise.name: [used for used in used_functions(exercise, chapter) if used not in helpers]
            for exercise in exercises.values()
            if not isinstance(exercise.reference, type)
        },
        needs={
            exercise.name: all_needed(exercise)
            for exercise in exercises.values()
            if not isinstance(exercise.reference, type)
        },
        modules={exercise.name: module_of(exercise) for exercise in exercises.values()},
        bundle=store(app, f"{name}.zip", zipped(files)),
        start=store(app, f"{name}-start.zip", zipped({path: files[path] for path in files.keys() - late.keys()})),
        data={path: store(app, PurePosixPath(path).name, content) for path, content in late.items()},
        bundle_with_other_keys=store(app, f"{name}-alone.zip", zipped(with_other_keys(files, exercises.values()))),
        notebook=store(app, f"{name}.ipynb", files[f"{name}.ipynb"]),
    )
    app.env.metadata[docname][KEY] = page
    next(doctree.findall(nodes.title)).parent.insert(1, nodes.raw("", WITHOUT_SCRIPTS, format="html"))
    first = next(node for node in doctree.findall(nodes.container) if "cell" in node["classes"])  # below the objectives
    first.parent.insert(first.parent.index(first), nodes.raw("", offer(docname, page), format="html"))


def _read_front_page(app: Sphinx, stub_cell: nodes.container) -> None:
    """Name the cell of the first exercise, and store its data."""
    name, section = first_exercise.EXERCISE.name, first_exercise.EXERCISE.section
    stub_cell["ids"].append(f"stub-{name}")
    stub_cell["classes"].append(FIRST)
    stub_cell.parent.insert(stub_cell.parent.index(stub_cell) + 1, nodes.raw("", WITHOUT_SCRIPTS, format="html"))
    app.env.metadata[app.env.docname][FRONT] = FrontPage(
        name=name,
        version=version(stub_cell.astext()),
        setup=first_exercise.SETUP,
        sections={section: f"{first_exercise.CHAPTER}.html#{nodes.make_id(section)}"},
        start=store(app, "first.zip", first_exercise.bundle()),
    )


def add_examples(cell: nodes.container, exercise: Exercise, files: dict[str, bytes]) -> None:
    """Fold the feedback on a common mistake and on a right solution in two tabs, instead of the output for the stub.

    An open one would look like feedback on the reader's own code.

    cell: the cell that checks the exercise. files: path -> content of its chapter's bundle, with its key.
    """
    for output in [node for node in cell if isinstance(node, nodes.Element) and "cell_output" in node.get("classes")]:
        cell.remove(output)
    its_key = key.from_bytes(files[f"check/keys/{exercise.name}.npz"])
    tabs = create_component("tab-set", classes=["sd-tab-set"])
    if mistake := _common_mistake(exercise, its_key):
        tabs += _tab(COMMON_MISTAKE, mistake)
    tabs += _tab(RIGHT, tried(exercise.reference, its_key))
    fold = nodes.raw("", FOLD, format="html"), tabs, nodes.raw("", "</details>", format="html")
    cell.insert(len(cell), nodes.container("", *fold, classes=[EXAMPLES]))


def _common_mistake(exercise: Exercise, its_key: key.Key) -> Checked | None:
    """Return the feedback on the exercise's first known mistake that the check names, if there is one."""
    for mistake, function in exercise.mistakes.values():
        checked = tried(function, its_key)
        if checked.result.mistake == mistake:
            return checked
    return None


def _tab(title: str, checked: Checked) -> nodes.container:
    label = nodes.rubric(title, title, classes=["sd-tab-label"])
    content = create_component("tab-content", classes=["sd-tab-content"])
    content += nodes.raw("", f'<div class="output text_html">{checked.html}</div>', format="html")
    tab = create_component("tab-item", classes=["sd-tab-item"], selected=False)
    tab += [label, content]
    return tab


@cache
def _targets() -> Targets:
    return read_targets(REPO / "chapters")


WITHOUT_SCRIPTS = """<noscript class="live-without-scripts"><p>Your browser runs no scripts, so this page cannot check
your code. You can read the book, and solve its exercises in the notebook that each chapter offers.</p></noscript>
"""
OFFER = """<details class="live-answers"><summary>The exercises as a notebook</summary>
<p><a href="{up}{out}/{bundle}" download="{name}.zip">{name}.zip</a> contains this chapter as a notebook, with its
answer keys and <code>check</code>. Unzip it and follow its <code>README.txt</code> to open it in JupyterLab on your
machine. Unzip all chapters into one folder, because a later chapter uses the functions that you wrote in the earlier
ones. Or take <a href="{up}{all}" download>all chapters in one file</a>, with other numbers in its
checks.</p></details>"""


def offer(docname: str, page: LivePage) -> str:
    """Return the offer of a chapter's notebook."""
    return OFFER.format(up="../" * docname.count("/"), out=OUT, all=ALL, bundle=page.bundle, name=page.chapter)


# What page.js would insert, so that the text does not move when it has loaded. It changes the signs only.
CONTENTS = """<p class="live-progress pst-js-only">0 of {count} exercises pass.</p>
<nav class="live-links pst-js-only" aria-label="Exercises of this page"><ol>{items}</ol>{waiting}{progress}</nav>"""
ITEM = (
    '<li><span role="img" aria-label="not passed yet" title="not passed yet">○</span> '
    '<a href="#live-{name}"><code>{name}</code></a></li>'
)
WAITING = """<details class="live-waiting"><summary>{waiting} of {count} exercises wait for functions of earlier
chapters</summary></details>"""
LINK = '<a href="{address}">My progress in the whole book</a>'


def contents(uses: dict[str, list[str]], progress: str | None) -> str:
    """Return the list of a page's exercises before the reader has done any.

    Args:
        uses: name of each exercise that runs in a browser -> the functions of earlier chapters that it uses.
        progress: address of the page with the reader's progress, if there is one.
    """
    count, waiting = len(uses), sum(map(bool, uses.values()))
    return CONTENTS.format(
        count=count,
        items="".join(ITEM.format(name=name) for name in uses),
        waiting=WAITING.format(waiting=waiting, count=count) if waiting else "",
        progress=LINK.format(address=progress) if progress else "",
    )


def add_contents(app: Sphinx, doctree: nodes.document, docname: str, scripts: Scripts) -> None:
    """Put the list of a page's exercises above the offer of a notebook, if the page has its scripts."""
    page = app.env.metadata[docname].get(KEY)
    if not page or not scripts.folder or app.builder.name != "html":
        return
    progress = app.builder.get_relative_uri(docname, PROGRESS) if PROGRESS in app.env.all_docs else None
    html = nodes.raw("", contents({name: page.uses[name] for name in page.in_browser()}, progress), format="html")
    place = next(node for node in doctree.findall(nodes.raw) if 'class="live-answers"' in node.astext())
    place.parent.insert(place.parent.index(place), html)


def _cells(doctree: nodes.document, tag: str) -> list[nodes.container]:
    return [node for node in doctree.findall(nodes.container) if {"cell", tag} <= set(node["classes"])]


def _given(doctree: nodes.document) -> list[nodes.container]:
    """Return the cells of a page that hold neither an exercise nor its check, in order."""
    cells = [node for node in doctree.findall(nodes.container) if "cell" in node["classes"]]
    return [cell for cell in cells if not {"tag_exercise", "tag_check"} & set(cell["classes"])]


def remove_from_other_forms(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Remove the offer, the examples and the first exercise from an EPUB, where a reader can check nothing."""
    if app.builder.name != "html":
        for html in [node for node in doctree.findall(nodes.raw) if LIVE_HTML.search(node.astext())]:
            html.parent.remove(html)
        for part in [node for node in doctree.findall(nodes.container) if {EXAMPLES, FIRST} & set(node["classes"])]:
            part.parent.remove(part)


# ------------------------------------------------------------------------------------------------ Sphinx


def setup(app: Sphinx) -> None:
    scripts = Scripts()
    app.add_config_value("lend", "nothing", "env", [str])
    app.connect("config-inited", lambda app, config: last_lent(config))  # a wrong choice ends the build at once
    app.connect("doctree-read", read_page)
    app.connect("env-updated", scripts.prepare)
    app.connect("html-page-context", scripts.add_to_page, priority=600)  # after other extensions have added to the head
    app.connect("doctree-resolved", remove_from_other_forms)
    app.connect("doctree-resolved", partial(add_contents, scripts=scripts))
    app.connect("build-finished", scripts.finish, priority=900)  # after everything that writes files
