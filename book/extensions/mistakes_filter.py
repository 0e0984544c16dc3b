"""Sphinx extension: the index of mistakes can be filtered, and each fold opens for the mistake that one comes for.

The page itself is whole without it: every fold stands open, and every mistake has its address.
"""

PAGE = "chapters/mistakes"


def load_script(app, pagename, templatename, context, doctree):
    """No other page needs it."""
    if pagename == PAGE:
        app.add_css_file("mistakes_filter.css")
        app.add_js_file("mistakes_filter.js", loading_method="defer")


def setup(app):
    app.connect("html-page-context", load_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
