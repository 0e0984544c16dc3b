"""Sphinx extension: a page is made again when what it is made from has changed, not only when its own text has.

jupyter-cache knows a notebook by its cells alone; after a change in `solutions/` it would go on showing the old
output. So each page's sources are remembered by their digest, beside the cache, and so is the folder of the
extensions and styles, which Sphinx leaves as it was built if no page has changed. It also prepares the kernels, so that
the book builds from a plain checkout.
"""

import hashlib
import json
import os
from pathlib import Path

from jupyter_cache import get_cache

from autograder.release.bundle import PINS

RECORD = "sources.json"
LOOK = "book"
# Of what the extensions say on a page, and of the notebook that it hands out.
RULES = (
    *(f"autograder/chapter/{name}.py" for name in ("cards", "chapter", "plain_markdown", "reading_time", "sections")),
    *(f"autograder/release/{name}.py" for name in ("bundle", "cell_needs", "notebook", "publish")),
    *PINS,
    "CITATION.cff",
    "_config.yml",
)
# What `check` runs in a page, and what makes its keys.
JUDGE = ("check/*.py", "autograder/authoring/*.py")


def sources(root, docname, chapters):
    """The Python files that a page's output depends on.

    Args:
        root: Path of the repository.
        docname: "chapters/03_masking", say.
        chapters: the words of all chapters, in order.

    Returns:
        list of Path: all but the solutions of later chapters, and the exercises of other ones. An index is made from
        all chapters and all exercises.
    """
    word = docname.rpartition("/")[2].partition("_")[2]
    later = chapters[chapters.index(word) + 1 :] if word in chapters else []
    files = [*root.glob("chapters/*.py"), *root.glob("solutions/*.py")]
    files += [path for pattern in JUDGE for path in root.glob(pattern)]
    if word in chapters:
        files += root.glob(f"autograder/exercises/{word}/*.py")
    if "import indexes" in (root / f"{docname}.md").read_text(encoding="utf-8"):
        files += [*root.glob("autograder/exercises/*/*.py"), *root.glob("autograder/chapter/*.py")]
        files += root.glob("chapters/[0-9]*.md")
    return sorted(path for path in files if path.parent.name != "solutions" or path.stem not in later)


def digest(root, paths):
    """Names and content of files, as one SHA-256 hex digest."""
    total = hashlib.sha256()
    for path in paths:
        total.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return total.hexdigest()


def outdated(app, env, added, changed, removed):
    """Sphinx asks what else to read again: the pages whose digest changed; their cached runs are dropped.

    After a change of extensions or styles that is every page, and their runs are kept.
    """
    root = Path(app.srcdir)
    chapters = [path.stem.partition("_")[2] for path in sorted(root.glob("chapters/[0-9][0-9]_*.md"))]
    app.page_digests = {docname: digest(root, sources(root, docname, chapters)) for docname in env.found_docs}
    look = sorted(path for path in (root / LOOK).rglob("*") if path.is_file() and path.suffix != ".pyc")
    look += [root / rule for rule in RULES if (root / rule).exists()]
    app.page_digests[LOOK] = digest(root, look)
    known = json.loads(_record(app).read_text(encoding="utf-8")) if _record(app).exists() else {}
    stale = {name for name, now in app.page_digests.items() if known.get(name) != now}
    cache = get_cache(_cache_path(app))
    # By their names: the folder may have been moved since they were made.
    names = {Path(env.doc2path(docname)).name for docname in stale - {LOOK}}
    for record in cache.list_cache_records():
        if Path(record.uri).name in names:
            cache.remove_cache(record.pk)
    return set(env.all_docs) if LOOK in stale else stale & set(env.all_docs)


def remember(app, exception):
    """Only a build that ended well makes its digests the known ones."""
    if exception is None and hasattr(app, "page_digests"):
        _record(app).write_text(json.dumps(app.page_digests, indent=1, sort_keys=True), encoding="utf-8")


def prepare_kernels(app, config):
    """Let the kernels import `solutions` and `autograder` from the checkout, and sum in one order.

    With several threads a matrix product rounds differently from run to run, and a training run ends elsewhere.
    IPython's settings are the book's own: those of whoever builds it have no say, and no kernel warns that it talks
    to its own machine by TCP.
    """
    profile = Path(app.outdir).parent / ".ipython" / "profile_default"
    profile.mkdir(parents=True, exist_ok=True)
    (profile / "ipython_kernel_config.py").write_text('c.IPKernelApp.log_level = "ERROR"\n')
    os.environ["IPYTHONDIR"] = str(profile.parent)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    known = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(app.srcdir), *filter(None, known)])


def _cache_path(app):
    return app.env.mystnb_config.execution_cache_path


def _record(app):
    return Path(_cache_path(app)) / RECORD


def setup(app):
    app.connect("config-inited", prepare_kernels)
    app.connect("env-get-outdated", outdated)
    app.connect("build-finished", remember, priority=2000)  # after everything that may yet fail the build
    return {"parallel_read_safe": True, "parallel_write_safe": True}
