"""Sphinx extension: a page without a chapter number counts its figures, tables, equations and listings from one.

Sphinx goes on counting through all such pages, so that the first figure of one has the number after another's last.
"""


def count_each_page(app, env):
    """Renumber the pages whose numbers have one part, "3" and not "2.3", in the order that they have."""
    for kinds in env.toc_fignumbers.values():
        for numbers in kinds.values():
            own = sorted((number, label) for label, number in numbers.items() if len(number) == 1)
            numbers.update((label, (place,)) for place, (_, label) in enumerate(own, start=1))
    return []


def setup(app):
    app.connect("env-get-updated", count_each_page, priority=900)  # after Sphinx has numbered them
    return {"parallel_read_safe": True, "parallel_write_safe": True}
