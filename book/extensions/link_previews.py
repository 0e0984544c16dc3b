"""Sphinx extension: what a page says of itself where it is linked: in a search engine's list, a chat, a message.

A page's description is the sentence in its front matter, `myst: html_meta: description:`, which MyST writes into the
page. Pictures need a whole address, so the card is named only where the book has one, `html: baseurl:` in _config.yml.
"""

from html import escape

from docutils import nodes

CARD = "_static/card.png"
CARD_SAYS = "The Transformer by Hand: the title beside a causal mask of four rows."
WIDTH, HEIGHT = 1200, 630


def description(doctree):
    """The sentence of a page's front matter, or "" if there is none."""
    said = (meta["content"] for meta in doctree.findall(nodes.meta) if meta.get("name") == "description")
    return next(said, "")


def properties(app, pagename, title, doctree):
    """The Open Graph properties of a page (https://ogp.me), name -> content."""
    found = {
        "og:title": title,
        "og:site_name": app.config.project,
        "og:type": "website" if pagename == app.config.root_doc else "article",
        "og:description": description(doctree),
    }
    if app.config.html_baseurl:
        home = app.config.html_baseurl.rstrip("/")
        found |= {
            "og:url": f"{home}/{app.builder.get_target_uri(pagename)}",
            "og:image": f"{home}/{CARD}",
            "og:image:alt": CARD_SAYS,
            "og:image:width": str(WIDTH),
            "og:image:height": str(HEIGHT),
        }
    return {name: content for name, content in found.items() if content}


def add_properties(app, pagename, templatename, context, doctree):
    """Write them into the head of each page of the book."""
    if doctree is None:
        return
    title = app.env.titles[pagename].astext()
    for name, content in properties(app, pagename, title, doctree).items():
        context["metatags"] += f'\n<meta property="{name}" content="{escape(content)}" />'
    if app.config.html_baseurl:
        context["metatags"] += '\n<meta name="twitter:card" content="summary_large_image" />'


def setup(app):
    app.connect("html-page-context", add_properties)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
