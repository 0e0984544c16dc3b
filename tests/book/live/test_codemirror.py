"""The file that contains CodeMirror: its hash, its licences, and the command that builds it."""

import hashlib
import json
import re
import shutil
import subprocess

import pytest

from book.live.built_files import BUNDLE, CODEMIRROR, LICENCES, members

pytestmark = pytest.mark.book


def packages():
    """Return the entries of the lock file by name, with "" for this folder's own."""
    lock = json.loads((CODEMIRROR / "package-lock.json").read_text(encoding="utf-8"))
    return {name.removeprefix("node_modules/"): package for name, package in lock["packages"].items()}


def test_the_hash_is_that_of_the_bundle():
    stated, name = (CODEMIRROR / f"{BUNDLE.name}.sha256").read_text().split()
    assert name == BUNDLE.name
    assert hashlib.sha256(BUNDLE.read_bytes()).hexdigest() == stated


def test_all_packages_are_pinned_to_npm_s_registry():
    assert json.loads((CODEMIRROR / "package.json").read_text())["dependencies"] == packages()[""]["dependencies"]
    direct = {**packages()[""]["dependencies"], **packages()[""]["devDependencies"]}
    assert all(re.fullmatch(r"[\d.]+", version) for version in direct.values())
    for name, package in packages().items():
        assert not name or "integrity" in package
        assert package.get("resolved", "https://registry.npmjs.org/").startswith("https://registry.npmjs.org/")


def test_the_licences_name_every_package_in_the_bundle():
    licences = LICENCES.read_text(encoding="utf-8")
    stated = dict(re.findall(r"^(\S+) ([\d.]+) \(MIT\)$", licences, re.MULTILINE))
    inside = {name: package["version"] for name, package in packages().items() if name and not package.get("dev")}
    # Another package depends on this one, but the bundle contains nothing of it.
    assert {name: version for name, version in inside.items() if name in stated} == stated
    assert inside.keys() - stated.keys() <= {"@codemirror/streamparser"}
    assert licences.count("Permission is hereby granted") == len(stated) > 10


def test_the_editor_completes_public_names():
    assert {"np", "np.linalg", "np.random", "math"} == set(members())
    assert {"einsum", "swapaxes", "sqrt", "pi"} <= set(members()["np"])
    assert not [name for names in members().values() for name in names if name.startswith("_")]


@pytest.mark.thorough("the hash already identifies the bundle; only a change of Node or npm could build another one")
def test_a_second_build_gives_the_same_bytes(tmp_path):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("NO NODE: CodeMirror was not built again. Install it: `apt-get install nodejs npm`.")
    for file in CODEMIRROR.iterdir():
        if file.is_file():
            shutil.copy(file, tmp_path)
    made = ("codemirror.js", "codemirror.js.sha256", "codemirror-MIT.txt")
    for name in made:
        (tmp_path / name).unlink()
    options = ["--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=1"]
    installed = subprocess.run([npm, "ci", *options], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    if installed.returncode:
        pytest.skip(f"NO REGISTRY: CodeMirror was not built again, {installed.stderr.strip().splitlines()[-1]}")
    built = subprocess.run([npm, "run", "build"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert built.returncode == 0, built.stderr
    for name in made:
        assert (tmp_path / name).read_bytes() == (CODEMIRROR / name).read_bytes()
