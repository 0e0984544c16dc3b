"""The cache of unpacked bundles: one copy for all processes, and no unused ones."""

import io
import multiprocessing
import os
import time
import zipfile

import pytest

from autograder.grading.bundles import KEPT_SECONDS, unpacked
from tests.patience import SECONDS

pytestmark = pytest.mark.grading
WORKERS, ROUNDS = 6, 5


def zipped(word):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number in range(40):
            archive.writestr(f"folder/{number}.txt", word)
    return stream.getvalue()


def unpack_together(barrier, bundle, cache, counts):
    barrier.wait()
    try:
        folder = unpacked(bundle, cache)
        counts.put(sum(1 for _ in folder.glob("folder/*.txt")))
    except Exception as error:
        counts.put(repr(error))


def test_workers_that_start_together_share_one_copy(tmp_path):
    context = multiprocessing.get_context("fork")
    for number in range(ROUNDS):
        cache, bundle = tmp_path / str(number), zipped(f"round {number}")
        barrier, counts = context.Barrier(WORKERS), context.Queue()
        task = (barrier, bundle, cache, counts)
        workers = [context.Process(target=unpack_together, args=task) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        assert [counts.get(timeout=SECONDS) for _ in workers] == [40] * WORKERS
        for worker in workers:
            worker.join()
        assert len([entry for entry in cache.iterdir() if entry.is_dir()]) == 1


def test_unused_bundles_are_removed_when_a_new_one_comes(tmp_path):
    old, used = unpacked(zipped("old"), tmp_path), unpacked(zipped("used"), tmp_path)
    half = tmp_path / ".half"  # the folder of a killed run
    half.mkdir()
    for folder in (old, used):
        os.utime(folder, (time.time() - KEPT_SECONDS - 1,) * 2)
    assert unpacked(zipped("used"), tmp_path) == used
    new = unpacked(zipped("new"), tmp_path)
    assert {entry for entry in tmp_path.iterdir() if entry.is_dir()} == {used, new}


def test_a_graded_bundle_has_no_answer_keys(tmp_path):
    """The keys also hold the results of runs that a secret case asks to predict."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in ("check/keys/predicted_ablations.npz", "check/chapters/10_project.json"):
            archive.writestr(name, "")
    folder = unpacked(stream.getvalue(), tmp_path)
    assert [path.name for path in folder.rglob("*.*")] == ["10_project.json"]
