"""A course on a JupyterHub: the demonstration of deploy/, whole, with accounts of this machine."""

import os
import pwd
import re
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

ROOT = Path(__file__).resolve().parent.parent
HUB = ROOT / ".hub"

pytestmark = pytest.mark.hub


@pytest.fixture(scope="module")
def demonstration():
    """What the demonstration printed; skipped, loudly, where it cannot be given."""
    if os.geteuid():
        pytest.skip("NOT ROOT: no hub was tried. It makes accounts: run `sudo make hub-demo`.")
    if not (HUB / ".done").exists():
        pytest.skip("NO HUB: none was tried. Set one up with `make hub`, which needs npm and the network.")
    if any(not folder.stat().st_mode & 0o001 for folder in HUB.resolve().parents):
        pytest.skip(f"NO HUB FOR ALL: none was tried. Students' accounts cannot look into {HUB}.")
    ran = subprocess.run([sys.executable, ROOT / "deploy/demo.py"], capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_two_students_read_their_feedback(demonstration):
    told = dict(re.findall(r"^(\w+)-\w+ has fetched feedback .* reads of a mistake: (\w+)$", demonstration, re.M))
    assert told == {"ada": "no", "ben": "yes"}
    scores = dict(re.findall(r"^(\w+)-\w+ .* (\d+)$", demonstration, re.M))
    assert scores == {"ada": "25", "ben": "20"}


def test_a_student_looks_into_nothing_of_the_instructors_or_of_others(demonstration):
    looked = re.findall(r"can look into (.*): (\w+)$", demonstration, re.M)
    assert len(looked) == 4 and {answer for _, answer in looked} == {"no"}


def test_nothing_is_left_of_it(demonstration):
    (folder,) = set(re.findall(r"/\S*/hub-\w+(?=/)", demonstration))
    assert not Path(folder).exists()
    accounts = set(re.findall(r"^(\w+-[0-9a-f]{6}) has logged in", demonstration, re.M))
    assert len(accounts) == 2 and not accounts & {account.pw_name for account in pwd.getpwall()}
    assert [each for each in psutil.process_iter(["cmdline"]) if folder in " ".join(each.info["cmdline"] or ())] == []
