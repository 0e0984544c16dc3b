"""Public keys are kept on disk, under a name that nothing else can have."""

import ast
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from autograder.authoring import answer_key_cache
from autograder.authoring.answer_key_cache import PACKAGES, SOURCES, kept
from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import public_key
from autograder.house import HOUSE
from check.key import load
from tests.conftest import CHAPTER

pytestmark = pytest.mark.autograder

FILES = (
    *("autograder/house.py", "autograder/authoring/slips.py", "check/judge.py"),
    *("autograder/exercises/attention/softmax.py", "solutions/attention.py"),
)
LONG_AGO = time.time() - 3600


@pytest.fixture
def cache(monkeypatch, tmp_path):
    """Where keys are kept in these tests, and nowhere else."""
    monkeypatch.setattr(answer_key_cache, "user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "autograder"


@pytest.fixture
def asked(cache, key):
    """asked(house) -> whether the key had to be made there."""

    def asked(house):
        made = []
        found = kept("solutions.attention.softmax", lambda: made.append(1) or key, house)
        assert found.digest == key.digest
        return bool(made)

    return asked


def a_house(folder, changed=""):
    """A house of one file a pattern, all of them old; `changed` has another text."""
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("changed" if name == changed else "text")
        os.utime(path, (LONG_AGO, LONG_AGO))
    return folder


def test_who_asks_while_it_is_being_made_waits_for_it(cache, key, tmp_path):
    house, made, both = a_house(tmp_path / "one"), [], Barrier(2)

    def make():
        made.append(1)
        time.sleep(0.3)  # the other one has asked by then, and does not make it
        return key

    def ask():
        both.wait()
        return kept("solutions.attention.softmax", make, house)

    with ThreadPoolExecutor() as pool:
        found = [pool.submit(ask) for _ in range(2)]
    assert [each.result().digest for each in found] == [key.digest] * 2
    assert len(made) == 1


def test_a_key_is_made_once(asked, cache, key, tmp_path):
    house = a_house(tmp_path / "one")
    assert asked(house) and not asked(house)
    assert not asked(a_house(tmp_path / "other"))  # another folder with the same course in it
    (file,) = cache.glob("*/*.npz")
    assert load(file).digest == key.digest


@pytest.mark.parametrize("file", FILES)
def test_whatever_changes_in_the_course_asks_for_another(asked, tmp_path, file):
    assert asked(a_house(tmp_path / "one"))
    assert asked(a_house(tmp_path / "other", changed=file))


@pytest.mark.parametrize("package", PACKAGES)
def test_so_does_another_version_of_what_it_imports(asked, monkeypatch, tmp_path, package):
    assert asked(a_house(tmp_path / "one"))
    known = answer_key_cache.version
    monkeypatch.setattr(answer_key_cache, "version", lambda name: "0.1" if name == package else known(name))
    assert asked(a_house(tmp_path / "other"))


def test_so_does_another_number_of_threads_in_which_sums_round_otherwise(asked, monkeypatch, tmp_path):
    assert asked(a_house(tmp_path / "one"))
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert asked(a_house(tmp_path / "other"))


@pytest.mark.parametrize("file", FILES)
def test_nothing_is_kept_of_a_course_that_is_being_edited(asked, cache, tmp_path, file):
    """What was imported may be older than what the file says now."""
    house = a_house(tmp_path / "one")
    os.utime(house / file)
    assert asked(house) and asked(house) and not cache.exists()


@pytest.mark.parametrize("damage", [b"", b"PK\3\4 half of it", b"something else"], ids=["empty", "half", "other"])
def test_a_damaged_file_is_made_anew(asked, cache, tmp_path, damage):
    house = a_house(tmp_path / "one")
    asked(house)
    (file,) = cache.glob("*/*.npz")
    file.write_bytes(damage)
    assert asked(house) and not asked(house)


def test_where_nothing_can_be_written_it_is_made_each_time(asked, cache, tmp_path):
    cache.write_text("no folder")
    house = a_house(tmp_path / "one")
    assert asked(house) and asked(house)


def test_public_keys_are_kept_under_the_name_of_what_is_asked_for(monkeypatch):
    monkeypatch.setattr("autograder.authoring.make_key.kept", lambda name, make: name)
    first, *_ = exercises_of(CHAPTER)
    assert public_key.__wrapped__(first) == "solutions.attention.softmax"


def test_all_that_decides_a_key_is_in_its_name():
    """Whatever these files import is one of them, Python's own, or a package whose version counts."""
    files = [file for pattern in SOURCES for file in HOUSE.glob(pattern)]
    outside = {"matplotlib", "platformdirs", "filelock"}  # pictures in a notebook; where the cache is, and whose turn
    known = {*sys.stdlib_module_names, *PACKAGES, *outside, "solutions"}
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                if name.startswith(("autograder.", "check.")):
                    path = HOUSE / name.replace(".", "/")
                    assert path.is_dir() or path.with_suffix(".py") in files, (file, name)
                else:
                    assert name.partition(".")[0] in known | {"autograder", "check"}, (file, name)
