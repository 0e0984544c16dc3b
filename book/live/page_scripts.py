"""Write the scripts of the pages and Python for them, and give each page its script and the JSON that the script reads.

Python, NumPy and matplotlib come from other projects (see `assets.py`). Without them the build succeeds, the exercises
do not run, and the build says so.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ConfigError, SphinxError

from autograder.errors import UserError
from autograder.release.bundle import zipped
from autograder.release.lending import last_lent_chapter, lent_files, lent_sources
from book.live import assets
from book.live.assets import PYODIDE_LOCK
from book.live.built_files import OUT, copy_stored, store, write_all_chapters, write_scripts, write_service_worker
from book.live.bytecode.stored import NAMES, REST
from book.live.page_data import FRONT, KEY, for_front_page, for_map, for_page, for_progress, for_reports, live_pages

MAP = "chapters/exercises"  # the page that lists all exercises, and marks those that pass
MISTAKES = "chapters/mistakes"
PROGRESS = "chapters/progress"
# Pages show HTML that Python made. Readers may have pasted the code from elsewhere, and HTML in a page can do more than
# code in the worker.
POLICY = "script-src-attr 'none'; object-src 'none'; base-uri 'none'"
MUST = "LIVE"  # environment variable: with LIVE=required, a build without Python for the pages fails


def last_lent(config: Config) -> int:
    """Return the number of the last chapter whose solutions the pages lend. Raises ConfigError for a wrong choice."""
    try:
        return last_lent_chapter(config.lend)
    except UserError as error:
        raise ConfigError(str(error)) from None


class Scripts:
    """Write the scripts of the pages, and add them to the pages that need them."""

    def __init__(self) -> None:
        self.folder = ""  # the name of the scripts' folder; "" without Python for the pages
        # The names of the stored files with the functions that the pages lend: `package` to call, `sources` to read.
        self.lent: dict[str, str] = {}

    def prepare(self, app: Sphinx, env: BuildEnvironment) -> list[str]:
        """Write the scripts and Python, and return the pages that Sphinx must write again for them."""
        pages = live_pages(env)
        if app.builder.name != "html" or not pages:
            return []
        last = last_lent(app.config)
        write_all_chapters(app, [page.bundle_with_other_keys for page in pages.values()], last)
        if last:
            self.lent["package"] = store(app, "lent.zip", zipped(lent_files(last)))
            self.lent["sources"] = store(app, "lent.json", lent_sources(last))
        stored = {
            name for page in pages.values() for name in (page.bundle, page.start, page.notebook, *page.data.values())
        }
        stored |= {data[FRONT].start for data in env.metadata.values() if FRONT in data}
        copy_stored(app, stored | set(self.lent.values()))
        self.folder = _write_scripts_if_possible(app)
        changed = []
        for docname in sorted(env.all_docs):
            if config := _config(app, docname):
                metadata, now = env.metadata[docname], json.dumps([self.folder, self.lent, config])
                if metadata.get("live scripts") != now:
                    changed.append(docname)
                metadata["live scripts"] = now
        return changed

    def finish(self, app: Sphinx, exception: Exception | None) -> None:
        """Write the service worker, if the build succeeded and its pages have scripts."""
        if exception is None and self.folder:
            write_service_worker(Path(app.outdir))

    def add_to_page(
        self, app: Sphinx, docname: str, template: str, context: dict, doctree: nodes.document | None
    ) -> None:
        """Give a page its script and the JSON that the script reads."""
        if doctree is None or not self.folder or not (config := _config(app, docname)):
            return
        up = context["pathto"](OUT, resource=True)
        metadata = app.env.metadata[docname]
        if page := metadata.get(KEY) or metadata.get(FRONT):
            config |= {
                "start": f"{up}/{page.start}",
                "data": {},
                "root": "../" * docname.count("/"),
                "report": for_reports(app.config.report_to),
                "python": [PYODIDE_LOCK, NAMES, REST, *_assets(when=None)],
                "drawing": _assets(when="figures"),
                "bytes": _bytes_to_load(Path(app.outdir, OUT), self.folder, page.start),
            }
        if chapter := metadata.get(KEY):
            lent = {key: f"{up}/{file}" for key, file in self.lent.items()}
            config |= {
                "notebook": f"{up}/{chapter.notebook}",
                "data": {path: f"{up}/{file}" for path, file in chapter.data.items()},
                "lent": config["lent"] | lent if lent else None,
            }
            pages = {"mistakes": MISTAKES, "progress": PROGRESS}
            config |= {name: context["pathto"](page) for name, page in pages.items() if page in app.env.all_docs}
        text = json.dumps(config).replace("<", "\\u003c")
        script = "exercise_map.js" if docname == MAP else "start.js"
        module = "progress.js" if docname == PROGRESS else "page.js"
        context["metatags"] += (
            f'\n<meta http-equiv="Content-Security-Policy" content="{POLICY}" />'
            f'\n<link rel="stylesheet" href="{up}/{self.folder}/live.css" />'
            f'\n<script type="application/json" id="live-exercises">{text}</script>'
            f'\n<script defer src="{up}/{self.folder}/{script}" data-module="{module}"></script>'
        )


def _write_scripts_if_possible(app: Sphinx) -> str:
    """Return the name of the scripts' folder, or "" after a warning if Python for the pages could not be found.

    Raises SphinxError if it could not be found, and the environment requires it.
    """
    try:
        return write_scripts(app, assets.files())
    except assets.AssetsUnavailable as error:
        if os.environ.get(MUST) == "required":
            raise SphinxError(f"no Python for the pages: {error}") from error
        print(
            f"\n*** THE EXERCISES DO NOT RUN IN THIS BUILD: no Python for the pages, {error}.\n"
            "*** Everything else is built. The next build with a network connection adds it.\n",
            file=sys.stderr,
        )
        return ""


def _config(app: Sphinx, docname: str) -> dict[str, Any] | None:
    """Return what the script of a page must know, without the addresses of files; None if the page has no script."""
    pages = live_pages(app.env)
    if docname == MAP:
        return for_map(pages.values())
    if docname == PROGRESS:
        return for_progress(pages.values(), last_lent(app.config))
    if front := app.env.metadata[docname].get(FRONT):
        return for_front_page(front)
    return for_page(pages[docname], pages.values(), last_lent(app.config)) if docname in pages else None


def _assets(when: str | None) -> list[str]:
    """Return the names of the assets that a page loads at first use (None), or only for "figures"."""
    return [file["name"] for file in assets.lock()["files"] if file.get("when") == when]


def _bytes_to_load(out: Path, folder: str, start: str) -> int:
    """Return how much the page's worker fetches before Python runs. The worker does not fetch modules of JavaScript."""
    names = [PYODIDE_LOCK, NAMES, *(name for name in _assets(when=None) if not name.endswith(".mjs"))]
    return sum((out / folder / "pyodide" / name).stat().st_size for name in names) + (out / start).stat().st_size
