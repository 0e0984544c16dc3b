"""A function's source can stand alone, with everything it uses."""

import importlib.util
import sys

import pytest

from autograder.example.standalone import standalone

pytestmark = pytest.mark.autograder

FILES = {
    "autograder.exercises.first.shared": "def step(x):\n    return x + 1\n",
    "autograder.exercises.second.shared": "def step(x):\n    return 10 * x\n",
    "autograder.exercises.second.walk": (
        "from autograder.exercises.first.shared import step as plus\n"
        "from autograder.exercises.second.shared import step\n\n\n"
        "def walk(x):\n    return step(plus(x))\n"
    ),
}


@pytest.fixture
def walk(tmp_path, monkeypatch):
    for name, source in FILES.items():
        file = tmp_path / f"{name}.py"
        file.write_text(source)
        spec = importlib.util.spec_from_file_location(name, file)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, module)
        spec.loader.exec_module(module)
    return module.walk


def test_two_helpers_of_the_same_name_are_kept_apart(walk):
    assert walk(1) == 20
    namespace = {}
    exec(standalone(walk, "wandered"), namespace)
    assert namespace["wandered"](1) == 20
