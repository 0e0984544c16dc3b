"""Sphinx extension: write 404.html, which a web server shows for an address that the book does not have.

The missing address may lie in any folder, so relative links of this page could lead nowhere. If the book has an address
of its own, `html: baseurl:` in `_config.yml`, all links of this page start from there.
"""

from collections.abc import Iterator
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

BODY = """<section>
<h1>There is no page here</h1>
<p>The address may have changed, or it may have a typing error. You can reach every page from
<a href="{home}">the front page</a>, and the <a href="{search}">search</a> covers the whole book.</p>
</section>
"""


def pages(app: Sphinx) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Yield the page as (name, context, template), as Sphinx asks for pages without a source. An EPUB has none."""
    if app.builder.name == "epub":
        return
    home, search = (app.builder.get_target_uri(name) for name in (app.config.root_doc, "search"))
    body = BODY.format(home=escape(home), search=escape(search))
    yield "404", {"title": "Page not found", "body": body}, "page.html"


def add_base(app: Sphinx, page: str, template: str, context: dict, doctree: nodes.document | None) -> None:
    """Put the base of all links at the top of the head, so that style sheets and scripts use it too."""
    if page == "404" and app.config.html_baseurl:
        base = f"{app.config.html_baseurl.rstrip('/')}/404.html"
        context["metatags"] = f'<base href="{escape(base)}" />' + context.get("metatags", "")


def setup(app: Sphinx) -> None:
    app.connect("html-collect-pages", pages)
    app.connect("html-page-context", add_base)
