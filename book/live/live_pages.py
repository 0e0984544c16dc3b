"""Sphinx extension: exercises can be written and checked in the page, by the book's own `check` in the browser.

Each stub gets a name that the page's script finds it by, and so does every other cell, which one can change and run
there; below each check stand what it says to a common wrong answer and to a right one. A page with exercises has, as
JSON, what its script needs to know; a zip file with `check` and the public keys, as the release makes them; and the
script. Python, NumPy and matplotlib are files of others (see assets.py): without them the pages stay as they are, and
the build says so.
"""

import hashlib
import json
import os
import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx.errors import SphinxError

from autograder.authoring.exercise import exercises_of
from autograder.chapter.chapter import Chapter
from autograder.chapter.targets import read_targets
from autograder.house import HOUSE, chapter_names
from autograder.release.publish import released_files
from book.live import assets
from book.live.built_files import ALL, LOCK, OUT, ship, ship_stored, ship_together, store
from book.live.check_examples import SAYS, tell
from book.live.given_cells import given_cells
from book.live.self_study import given, setup_of, study_files, with_keys_of_its_own, zipped

MAP = "chapters/exercises"  # the page that shows all exercises; its marks come from what passes elsewhere
MISTAKES = "chapters/mistakes"
MUST = "LIVE"  # LIVE=required in the environment: a build without Python for the pages fails
STORED = "bundle", "notebook"  # what a page loads that is made of its chapter


def version(stub):
    """A short name for the text of a stub: another text is another exercise to a reader who comes back."""
    return hashlib.sha256(stub.encode()).hexdigest()[:12]


# ------------------------------------------------------------------------------------------------ reading a page


def read(app, doctree):
    """Name the exercises of a page, and show what their check says."""
    docname = app.env.docname
    name = docname.rpartition("/")[2]
    stub_cells = _cells(doctree, "tag_exercise")
    if not stub_cells or name not in chapter_names():
        return
    chapter = Chapter(name, Path(app.env.doc2path(docname)).read_text(encoding="utf-8"), tuple(exercises_of(name)))
    exercises = {each.name: each for each in chapter.exercises if each.name in chapter.stubs}
    if not hasattr(app, "live_targets"):
        app.live_targets = read_targets(HOUSE / "chapters")
    files = released_files(chapter, app.live_targets)
    functions = given(chapter)
    for each, cell in zip(chapter.stubs, stub_cells, strict=True):
        cell["ids"].append(f"stub-{each}")
    for cell in _cells(doctree, "tag_check"):
        each = re.search(r"check\((\w+)\)", cell.astext())[1]
        cell["ids"].append(f"check-{each}")
        tell(cell, exercises[each], files)
    files = study_files(files, chapter)
    study = store(app, f"{name}.zip", zipped(files))
    next(doctree.findall(nodes.title)).parent.insert(1, nodes.raw("", offer(docname, name, study), format="html"))
    told = given_cells(chapter, functions)
    for place, (cell, _) in enumerate(zip(_given(doctree), told, strict=True)):
        cell["ids"].append(f"cell-{place}")
    sections = {section[0].astext(): section["ids"][0] for section in doctree.findall(nodes.section)}
    _pages(app.env)[docname] = {
        "chapter": name,
        "number": chapter.number,
        "setup": setup_of(chapter),
        "given": functions,
        "cells": told,
        "sections": sections,
        "exercises": {each: version(chapter.stubs[each]) for each in exercises},
        "elsewhere": [each for each in exercises if isinstance(exercises[each].reference, type)],
        "bundle": study,
        "alone": store(app, f"{name}-alone.zip", zipped(with_keys_of_its_own(files, exercises.values()))),
        "notebook": store(app, f"{name}.ipynb", files[f"{name}.ipynb"]),
    }


OFFER = """<details class="live-answers"><summary>The exercises as a notebook</summary>
<p><a href="{up}{out}/{study}" download="{name}.zip">{name}.zip</a> has this chapter as a notebook, with its answer
keys and <code>check</code>. Unzip it, and follow its <code>README.txt</code>: JupyterLab opens it on your machine.
Unzip all chapters into one folder: a later one uses the functions that you wrote in the earlier ones. Or take
<a href="{up}{all}" download>all chapters in one file</a>, whose checks have numbers of their own.</p></details>"""


def offer(docname, name, study):
    """The fold below a chapter's title, as HTML."""
    return OFFER.format(up="../" * docname.count("/"), out=OUT, all=ALL, study=study, name=name)


def _cells(doctree, tag):
    return [node for node in doctree.findall(nodes.container) if {"cell", tag} <= set(node["classes"])]


def _given(doctree):
    """The cells of a page that hold neither an exercise nor its check, in order."""
    answered = {"tag_exercise", "tag_check"}
    cells = [node for node in doctree.findall(nodes.container) if "cell" in node["classes"]]
    return [node for node in cells if not answered & set(node["classes"])]


# ------------------------------------------------------------------------------------------------ writing pages


def prepare(app, env):
    """Put the scripts and Python where the pages find them. Sphinx asks which pages to write again for it."""
    app.live_folder = None
    if app.builder.name != "html" or not _pages(env):
        return []
    ship_together(app, [page["alone"] for _, page in sorted(_pages(env).items())])
    ship_stored(app, {page[kind] for page in _pages(env).values() for kind in STORED})
    try:
        app.live_folder = ship(app, assets.files())
    except assets.NotToBeHad as error:
        if os.environ.get(MUST) == "required":
            raise SphinxError(f"no Python for the pages: {error}") from error
        print(
            f"\n*** THE EXERCISES STAY STILL: no Python for the pages, {error}.\n"
            "*** Everything else is built. The next build with a network makes up for it.\n",
            file=sys.stderr,
        )
    told = {docname: json.dumps([app.live_folder, _config(env, docname)]) for docname in [*_pages(env), MAP]}
    changed = [docname for docname in told if getattr(env, "live_told", {}).get(docname) != told[docname]]
    env.live_told = told
    return [docname for docname in changed if docname in env.all_docs]


def _runnable(page):
    """Name -> version of the exercises that a browser can run."""
    return {name: each for name, each in page["exercises"].items() if name not in page["elsewhere"]}


def _config(env, docname):
    """What the script of a page needs to know."""
    pages = _pages(env)
    if docname == MAP:
        return {"exercises": {name: each for page in pages.values() for name, each in _runnable(page).items()}}
    page = pages[docname]
    earlier = [other for other in pages.values() if other["number"] < page["number"]]
    return {
        **{name: page[name] for name in ("chapter", "setup", "given", "sections", "elsewhere", "cells")},
        "exercises": [
            {"name": name, "version": each} for name, each in page["exercises"].items() if name not in page["elsewhere"]
        ],
        "earlier": [
            {name: other[name] for name in ("chapter", "number", "setup", "exercises")}
            for other in sorted(earlier, key=lambda other: other["number"])
        ],
    }


def _files(when):
    """Names of the files of others that a page loads at first use, or only when there is a figure to draw."""
    return [file["name"] for file in assets.lock()["files"] if file.get("when") == when]


def add_script(app, pagename, templatename, context, doctree):
    """Give a page with exercises its script, and what the script needs to know."""
    if doctree is None or not getattr(app, "live_folder", None):
        return
    if pagename not in _pages(app.env) and pagename != MAP:
        return
    up = context["pathto"](OUT, resource=True)
    config = _config(app.env, pagename)
    if pagename != MAP:
        config |= {kind: f"{up}/{_pages(app.env)[pagename][kind]}" for kind in STORED}
        config |= {
            "root": "../" * pagename.count("/"),
            "python": [LOCK, *_files(when=None)],
            "drawing": _files(when="figures"),
        }
        if MISTAKES in app.env.all_docs:
            config["mistakes"] = context["pathto"](MISTAKES)
    said = json.dumps(config, sort_keys=True).replace("<", "\\u003c")
    script = "exercise_map.js" if pagename == MAP else "start.js"
    context["metatags"] += (
        f'\n<link rel="stylesheet" href="{up}/{app.live_folder}/live.css" />'
        f'\n<script type="application/json" id="live-exercises">{said}</script>'
        f'\n<script defer src="{up}/{app.live_folder}/{script}"></script>'
    )


def keep_still(app, doctree, docname):
    """An e-book holds what a reader can do there: nothing of what a check would say, and nothing to download."""
    if app.builder.name != "html":
        for fold in [node for node in doctree.findall(nodes.raw) if "live-answers" in node.astext()]:
            fold.parent.remove(fold)
        for tabs in [node for node in doctree.findall(nodes.container) if SAYS in node["classes"]]:
            tabs.parent.remove(tabs)


# ------------------------------------------------------------------------------------------------ Sphinx


def _pages(env):
    if not hasattr(env, "live_pages"):
        env.live_pages = {}
    return env.live_pages


def forget(app, env, docname):
    _pages(env).pop(docname, None)


def merge(app, env, docnames, other):
    _pages(env).update({name: page for name, page in _pages(other).items() if name in docnames})


def setup(app):
    app.connect("doctree-read", read)
    app.connect("env-purge-doc", forget)
    app.connect("env-merge-info", merge)
    app.connect("env-updated", prepare)
    app.connect("html-page-context", add_script, priority=600)  # after what else is written into the head
    app.connect("doctree-resolved", keep_still)
    return {"version": "1", "env_version": 1, "parallel_read_safe": True, "parallel_write_safe": True}
