"""Sphinx extension: write into each page what search engines, chats and social networks show beside a link to it.

A page's description is the sentence in its front matter, `myst: html_meta: description:`, which MyST writes into the
page. The address of a picture must be complete, so we name the card only if the book has an address, `html: baseurl:`
in `_config.yml`.
"""

from html import escape

from docutils import nodes
from sphinx.application import Sphinx

CARD = "_static/card.png"
CARD_ALT = "The Transformer by Hand: the title beside a causal mask of four rows."
WIDTH, HEIGHT = 1200, 630


def description(doctree: nodes.document) -> str:
    """Return the sentence of a page's front matter, or "" if there is none."""
    descriptions = (meta["content"] for meta in doctree.findall(nodes.meta) if meta.get("name") == "description")
    return next(descriptions, "")


def properties(app: Sphinx, page: str, title: str, doctree: nodes.document) -> dict[str, str]:
    """Return the Open Graph properties of a page (https://ogp.me), name -> content."""
    named = {
        "og:title": title,
        "og:site_name": app.config.html_title,
        "og:type": "website" if page == app.config.root_doc else "article",
        "og:description": description(doctree),
    }
    if app.config.html_baseurl:
        home = app.config.html_baseurl.rstrip("/")
        named |= {
            "og:url": f"{home}/{app.builder.get_target_uri(page)}",
            "og:image": f"{home}/{CARD}",
            "og:image:alt": CARD_ALT,
            "og:image:width": str(WIDTH),
            "og:image:height": str(HEIGHT),
        }
    return {name: content for name, content in named.items() if content}


def add_properties(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Write the properties into the head of each page that has a source."""
    if doctree is None:
        return
    title = app.env.titles[page].astext()
    for name, content in properties(app, page, title, doctree).items():
        context["metatags"] += f'\n<meta property="{name}" content="{escape(content)}" />'
    if app.config.html_baseurl:
        context["metatags"] += '\n<meta name="twitter:card" content="summary_large_image" />'


def setup(app: Sphinx) -> None:
    app.connect("html-page-context", add_properties)
