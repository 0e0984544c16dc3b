"""Cache answer keys on disk, separately for each version of everything that decides them."""

import ast
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from autograder.authoring import answer_key_cache
from autograder.authoring.answer_key_cache import PACKAGES, SOURCES, cached_key
from autograder.authoring.exercise import exercises_of
from autograder.authoring.make_key import public_key
from autograder.layout import REPO
from check.key import Key, load
from tests.conftest import CHAPTER

pytestmark = pytest.mark.autograder

FILES = (
    *("autograder/layout.py", "autograder/authoring/slips.py", "check/scoring.py"),
    *("autograder/exercises/attention/softmax.py", "autograder/exercises/project/data.npz", "solutions/attention.py"),
)
LONG_AGO = time.time() - 3600

IsMade = Callable[[Path], bool]


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder in which these tests cache keys."""
    monkeypatch.setattr(answer_key_cache, "user_cache_path", lambda name: tmp_path / name)
    return tmp_path / "autograder"


@pytest.fixture
def is_made(cache: Path, key: Key) -> IsMade:
    """is_made(repo) -> whether `cached_key` had to make the key for the version of the course in this folder."""

    def is_made(repo: Path) -> bool:
        calls = []

        def make() -> Key:
            calls.append("make")
            return key

        assert cached_key("solutions.attention.softmax", make, repo).digest == key.digest
        return bool(calls)

    return is_made


def small_repo(folder: Path, changed: str = "") -> Path:
    """Write a course with one old file for each pattern into a folder. changed: name of the file whose text differs."""
    for name in FILES:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("changed" if name == changed else "text")
        os.utime(path, (LONG_AGO, LONG_AGO))
    return folder


def test_only_one_of_two_simultaneous_callers_makes_the_key(cache: Path, key: Key, tmp_path: Path) -> None:
    repo, calls, both = small_repo(tmp_path / "one"), [], Barrier(2)

    def make() -> Key:
        calls.append("make")
        time.sleep(0.3)  # meanwhile the other thread asks for the key, too
        return key

    def ask() -> Key:
        both.wait()
        return cached_key("solutions.attention.softmax", make, repo)

    with ThreadPoolExecutor() as pool:
        answers = [pool.submit(ask) for _ in range(2)]
    assert [answer.result().digest for answer in answers] == [key.digest] * 2
    assert calls == ["make"]


def test_a_key_is_made_once(is_made: IsMade, cache: Path, key: Key, tmp_path: Path) -> None:
    repo = small_repo(tmp_path / "one")
    assert is_made(repo) and not is_made(repo)
    assert not is_made(small_repo(tmp_path / "other"))  # another folder with the same course in it
    (file,) = cache.glob("*/*.npz")
    assert load(file).digest == key.digest


@pytest.mark.parametrize("file", FILES)
def test_a_changed_file_needs_a_new_key(is_made: IsMade, tmp_path: Path, file: str) -> None:
    assert is_made(small_repo(tmp_path / "one"))
    assert is_made(small_repo(tmp_path / "other", changed=file))


@pytest.mark.parametrize("package", PACKAGES)
def test_another_version_of_a_package_needs_a_new_key(
    is_made: IsMade, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, package: str
) -> None:
    assert is_made(small_repo(tmp_path / "one"))
    installed = answer_key_cache.version
    monkeypatch.setattr(answer_key_cache, "version", lambda name: "0.1" if name == package else installed(name))
    assert is_made(small_repo(tmp_path / "other"))


def test_another_number_of_threads_needs_a_new_key_because_sums_round_differently(
    is_made: IsMade, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert is_made(small_repo(tmp_path / "one"))
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    assert is_made(small_repo(tmp_path / "other"))


@pytest.mark.parametrize("file", FILES)
def test_no_key_is_cached_while_a_file_is_edited(is_made: IsMade, cache: Path, tmp_path: Path, file: str) -> None:
    """Python may have imported an older version of the file."""
    repo = small_repo(tmp_path / "one")
    os.utime(repo / file)
    assert is_made(repo) and is_made(repo) and not cache.exists()


@pytest.mark.parametrize("damage", [b"", b"PK\3\4 half of it", b"something else"], ids=["empty", "half", "other"])
def test_a_damaged_file_is_replaced(is_made: IsMade, cache: Path, tmp_path: Path, damage: bytes) -> None:
    repo = small_repo(tmp_path / "one")
    is_made(repo)
    (file,) = cache.glob("*/*.npz")
    file.write_bytes(damage)
    assert is_made(repo) and not is_made(repo)


def test_a_key_is_made_each_time_if_the_cache_cannot_be_written(is_made: IsMade, cache: Path, tmp_path: Path) -> None:
    cache.write_text("no folder")
    repo = small_repo(tmp_path / "one")
    assert is_made(repo) and is_made(repo)


def test_a_public_key_has_the_name_of_its_reference(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("autograder.authoring.make_key.cached_key", lambda name, make: name)
    first, *_ = exercises_of(CHAPTER)
    assert public_key.__wrapped__(first) == "solutions.attention.softmax"


def test_the_digest_includes_everything_that_decides_a_key() -> None:
    """The sources import only each other, the standard library, and packages whose version is in the digest."""
    files = [file for pattern in SOURCES for file in REPO.glob(pattern)]
    no_effect = {"matplotlib", "platformdirs", "filelock", "tqdm"}  # they draw, find the cache, lock it, count
    allowed = {*sys.stdlib_module_names, *PACKAGES, *no_effect, "solutions"}
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                if name.startswith(("autograder.", "check.")):
                    path = REPO / name.replace(".", "/")
                    assert path.is_dir() or path.with_suffix(".py") in files, (file, name)
                else:
                    assert name.partition(".")[0] in allowed | {"autograder", "check"}, (file, name)
