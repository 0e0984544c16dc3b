"""Load every Sphinx extension of the book. `_config.yml` names this package alone."""

from sphinx.application import Sphinx
from sphinx.util.typing import ExtensionMetadata

# Pages list the style sheets and scripts of the extensions in this order.
EXTENSIONS = (
    "book.extensions.external_assets",
    "book.extensions.warnings_as_errors",
    "book.extensions.unused_scripts",
    "book.extensions.formulas",
    "book.extensions.formula_punctuation",
    "book.extensions.stale_pages",
    "book.extensions.build_record",
    "book.extensions.notebook_runs",
    "book.extensions.questions",
    "book.extensions.derivations",
    "book.extensions.explorers",
    "book.extensions.core_path",
    "book.extensions.exercise_ids",
    "book.extensions.glossary",
    "book.extensions.bibliography",
    "book.extensions.numbering",
    "book.extensions.page_scripts",
    "book.extensions.search",
    "book.extensions.link_previews",
    "book.extensions.not_found_page",
    "book.live.live_pages",
    "book.live.launch_buttons",
    "book.forms.epub",
)


def setup(app: Sphinx) -> ExtensionMetadata:
    for name in EXTENSIONS:
        app.setup_extension(name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
