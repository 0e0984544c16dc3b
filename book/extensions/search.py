"""Sphinx extension: search results in a better order, and excerpts without raw TeX; see static/search.js."""


def keep_entries(app, env):
    """Pages to write again whenever one is: those with index entries, the glossary's terms.

    When Sphinx adds a page to a search index there is already, it drops the entries of all others
    (https://github.com/sphinx-doc/sphinx/issues/12599).
    """
    return [docname for docname, entries in env.domains["index"].entries.items() if entries]


def load_script(app, pagename, templatename, context, doctree):
    """After Sphinx's own search tools, which it amends, and before they begin."""
    if pagename == "search":
        app.add_js_file("search.js", loading_method="defer")


def setup(app):
    app.connect("env-updated", keep_entries)
    app.connect("html-page-context", load_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
