"""Find the files that Python and a chapter's packages need, by asking Python instead of listing them by hand."""

import functools
import importlib.util
import os
import re
import sys
import sysconfig
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path


def executable() -> Path:
    """Return the interpreter itself, outside any virtual environment."""
    return Path(os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable))


def libraries() -> list[Path]:
    """Return the folders of the standard library and of the shared libraries, outermost first, with symbolic links."""
    candidates = [Path("/usr/lib"), Path("/usr/lib64"), Path("/lib"), Path("/lib64")]
    candidates += [Path(sys.base_prefix, "lib"), Path(sys.base_prefix, "lib64"), Path(sysconfig.get_path("stdlib"))]
    folders: list[Path] = []
    for folder in candidates:
        if folder.exists() and not any(folder == other or other in folder.parents for other in folders):
            folders.append(folder)
    return folders


@functools.cache
def package_folders() -> tuple[Path, ...]:
    """Return the folders of packages, for use without a sandbox. The folder of NumPy comes first."""
    numpy = importlib.util.find_spec("numpy")
    assert numpy is not None and numpy.origin is not None, "the autograder itself needs NumPy"
    folders = [Path(numpy.origin).parent.parent, *(Path(sysconfig.get_path(name)) for name in ("platlib", "purelib"))]
    return tuple(dict.fromkeys(folder.resolve() for folder in folders if folder.is_dir()))


@functools.cache
def modules(distributions: tuple[str, ...]) -> dict[str, Path]:
    """Return the files and folders of some distributions and of all their requirements, by file name."""
    every = with_requirements(distributions)
    paths = {name: Path(str(one.locate_file(name))) for one in every for name in _top_names(one)}
    return {name: path.resolve() for name, path in sorted(paths.items()) if path.exists()}


def with_requirements(distributions: tuple[str, ...]) -> list[Distribution]:
    """Return some distributions and all their requirements, those that are installed."""
    every: list[Distribution] = []
    visited, pending = set(), list(distributions)
    while pending:
        name = pending.pop()
        if name in visited:
            continue
        visited.add(name)
        try:
            installed = distribution(name)
        except PackageNotFoundError:  # required only by another Python or on another system
            continue
        requirements = (re.match(r"[\w.-]+", line) for line in installed.requires or [] if "extra ==" not in line)
        pending += [name[0] for name in requirements if name]
        every.append(installed)
    return every


def _top_names(installed: Distribution) -> set[str]:
    """Return the names of a distribution's files and folders in its package folder."""
    names = {file.parts[0] for file in installed.files or ()} or {installed.metadata["Name"]}
    return {name for name in names if name != "__pycache__" and not name.endswith((".", "-info", ".pth"))}


def folders_to_cover() -> list[Path]:
    """Return the package folders inside `libraries()`. The sandbox covers them and puts `modules()` elsewhere."""
    standard = Path(sysconfig.get_path("stdlib"))
    candidates = [standard / "site-packages", standard / "dist-packages", standard.parent / "python3" / "dist-packages"]
    return [folder for folder in candidates if folder.is_dir()]
