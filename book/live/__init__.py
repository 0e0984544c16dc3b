"""Let a reader write, run and check code in a page of the book.

`live_pages.py` adds to each page with exercises a zip file (`self_study.py`), its script (`page_scripts.py`) and the
JSON that the script reads (`page_data.py`). `assets.py` downloads Python, NumPy and Matplotlib. `bytecode/` holds
compiled modules of Python and NumPy, so that they start faster, and `in_page/rest.py` imports all others.
`page_needs.py` finds out which exercises a cell of the chapter waits for. `launch_buttons.py` adds buttons for Colab
and Binder.

In the page, `in_page/editor.js` is the field in which readers write. `in_page/exercise.js` sends the cells up to the
exercise's to `in_page/worker.js`. There, `in_page/exercise_run.py` runs them in a new namespace and calls
`check/checking.py`. `in_page/cell_run.py` runs the chapter's own cells, and `in_page/slicing.py` finds the statements
that they do not need. `benchmarks/parity.py` compares the verdicts of all known answers in the browser with those
outside.
"""
