"""Sphinx extension: 404.html, the page that a web server shows at any address the book does not have.

Such an address may be of any depth, where a link from one page to the next leads astray. So where the book has an
address of its own, `html: baseurl:` in _config.yml, all links of this page start there.
"""

from html import escape

BODY = """<section>
<h1>There is no page here</h1>
<p>The address may have changed, or a letter of it got lost. Everything in the book is reached from
<a href="{home}">its front page</a>, and the <a href="{search}">search</a> looks through all of it.</p>
</section>
"""


def pages(app):
    """Sphinx asks for pages that are made of no source: (name, context, template). An EPUB has no addresses to miss."""
    if app.builder.name == "epub":
        return
    home, search = (app.builder.get_target_uri(name) for name in (app.config.root_doc, "search"))
    body = BODY.format(home=escape(home), search=escape(search))
    yield "404", {"title": "Page not found", "body": body}, "page.html"


def start_at_home(app, pagename, templatename, context, doctree):
    """The first thing in the head, so that style sheets and scripts are found, too."""
    if pagename == "404" and app.config.html_baseurl:
        base = f"{app.config.html_baseurl.rstrip('/')}/404.html"
        context["metatags"] = f'<base href="{escape(base)}" />' + context.get("metatags", "")


def setup(app):
    app.connect("html-collect-pages", pages)
    app.connect("html-page-context", start_at_home)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
