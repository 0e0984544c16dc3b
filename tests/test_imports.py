"""No modules import each other in a circle."""

from graphlib import TopologicalSorter

import grimp
import pytest


@pytest.mark.autograder
def test_imports_form_no_circle():
    graph = grimp.build_graph("autograder", "check", "book", cache_dir=None)
    imported = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imported).prepare()  # a CycleError names the modules of a circle
