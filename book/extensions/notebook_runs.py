"""Sphinx extension: notebooks run side by side, one a processor, before Sphinx reads its pages in a row."""

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn
from jupyter_cache.executors.utils import single_nb_execution
from myst_nb.core.read import create_nb_reader

from autograder.authoring.make_key import save_public_keys
from check.bundle_data import FOLDER


def run_all(app, env, docnames):
    """Run the notebooks that have no cached run, and keep their runs where MyST-NB looks for them.

    One that fails is left to MyST-NB, which runs it again and says what failed.
    """
    settings = env.mystnb_config
    if settings.execution_mode != "cache":
        return
    cache = get_cache(settings.execution_cache_path)
    notebooks = {path: _notebook(env, path) for path in (Path(env.doc2path(docname)) for docname in docnames)}
    waiting = {path: notebook for path, notebook in notebooks.items() if notebook and not _is_cached(cache, notebook)}
    if not waiting:
        return
    os.environ[FOLDER] = str(Path(app.outdir).parent / "check_data")
    save_public_keys(Path(os.environ[FOLDER], "keys"))

    def run(path):
        return single_nb_execution(waiting[path], str(path.parent), settings.execution_timeout, allow_errors=False)

    latest_first = sorted(waiting, reverse=True)  # the last chapter takes longest
    with ThreadPoolExecutor(max(2, os.cpu_count())) as pool:
        results = list(pool.map(run, latest_first))
    for path, result in zip(latest_first, results, strict=True):
        if result.err is None:
            done = CacheBundleIn(waiting[path], str(path), data={"execution_seconds": result.time})
            cache.cache_notebook_bundle(done, check_validity=False, overwrite=True)


def _notebook(env, path):
    """The page as a notebook; None if it is none."""
    text = path.read_text(encoding="utf-8")
    reader = create_nb_reader(str(path), env.myst_config, env.mystnb_config, text)
    return reader and reader.read(text)


def _is_cached(cache, notebook):
    with suppress(KeyError):
        return cache.match_cache_notebook(notebook)


def setup(app):
    app.connect("env-before-read-docs", run_all)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
