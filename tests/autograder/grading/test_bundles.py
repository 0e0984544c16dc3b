"""The cache of unpacked bundles: one copy, whoever comes first, and none that nobody uses."""

import io
import multiprocessing
import os
import time
import zipfile

import pytest

from autograder.grading.bundles import KEPT_SECONDS, unpacked

pytestmark = pytest.mark.grading
WORKERS, ROUNDS = 6, 5


def zipped(word):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for number in range(40):
            archive.writestr(f"folder/{number}.txt", word)
    return stream.getvalue()


def unpack_together(barrier, bundle, cache, found):
    barrier.wait()
    try:
        folder = unpacked(bundle, cache)
        found.put(sum(1 for _ in folder.glob("folder/*.txt")))
    except Exception as error:
        found.put(repr(error))


def test_workers_that_start_together_share_one_copy(tmp_path):
    context = multiprocessing.get_context("fork")
    for number in range(ROUNDS):
        cache, bundle = tmp_path / str(number), zipped(f"round {number}")
        barrier, found = context.Barrier(WORKERS), context.Queue()
        task = (barrier, bundle, cache, found)
        workers = [context.Process(target=unpack_together, args=task) for _ in range(WORKERS)]
        for worker in workers:
            worker.start()
        assert [found.get(timeout=30) for _ in workers] == [40] * WORKERS
        for worker in workers:
            worker.join()
        assert len([entry for entry in cache.iterdir() if entry.is_dir()]) == 1


def test_what_nobody_uses_is_removed_when_another_comes(tmp_path):
    old, used = unpacked(zipped("old"), tmp_path), unpacked(zipped("used"), tmp_path)
    half = tmp_path / ".half"  # of a killed run
    half.mkdir()
    for folder in (old, used):
        os.utime(folder, (time.time() - KEPT_SECONDS - 1,) * 2)
    assert unpacked(zipped("used"), tmp_path) == used
    new = unpacked(zipped("new"), tmp_path)
    assert {entry for entry in tmp_path.iterdir() if entry.is_dir()} == {used, new}
