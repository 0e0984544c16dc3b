"""Load every Sphinx extension of the book. `_config.yml` names only this package."""

import importlib

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

# Pages list the style sheets and scripts of the extensions in this order.
EXTENSIONS = (
    "book.extensions.failing",
    "book.extensions.formulas",
    "book.extensions.stale_pages",
    "book.extensions.build_record",
    "book.extensions.notebook_runs",
    "book.extensions.questions",
    "book.extensions.derivations",
    "book.extensions.folded_cells",
    "book.extensions.at_hand",
    "book.extensions.explorers",
    "book.extensions.core_path",
    "book.extensions.glossary",
    "book.extensions.bibliography",
    "book.extensions.corrections",
    "book.extensions.page_files",
    "book.extensions.search",
    "book.extensions.link_previews",
    "book.extensions.not_found_page",
    "book.extensions.page_footer",
    "book.extensions.tutor_files",
    "book.live.live_pages",
    "book.live.launch_buttons",
    "book.forms.epub",
)


def setup(app: Sphinx) -> ExtensionMetadata:
    for name in EXTENSIONS:
        importlib.import_module(name).setup(app)
    # The version changes with what an extension stores about a page, so that Sphinx reads all pages again.
    return {"env_version": 8, "parallel_read_safe": True, "parallel_write_safe": True}
