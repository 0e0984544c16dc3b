"""Which files Python needs, with the packages that a chapter brings, found out rather than written down."""

import functools
import importlib.util
import os
import re
import sys
import sysconfig
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

# What chapters compute and draw with; nothing else that is installed here can be imported by a student's code.
BROUGHT = ("numpy", "matplotlib")


def executable() -> Path:
    """The interpreter itself, without the virtual environment around it."""
    return Path(os.path.realpath(getattr(sys, "_base_executable", "") or sys.executable))


def libraries() -> list[Path]:
    """The folders of the standard library and of the shared libraries, outermost first, symbolic links included."""
    wanted = [Path("/usr/lib"), Path("/usr/lib64"), Path("/lib"), Path("/lib64")]
    wanted += [Path(sys.base_prefix, "lib"), Path(sys.base_prefix, "lib64"), Path(sysconfig.get_path("stdlib"))]
    found: list[Path] = []
    for folder in wanted:
        if folder.exists() and not any(folder == other or other in folder.parents for other in found):
            found.append(folder)
    return found


@functools.cache
def packages() -> tuple[Path, ...]:
    """The folders that packages are imported from where there is no sandbox: NumPy's own first."""
    numpy = importlib.util.find_spec("numpy")
    assert numpy is not None and numpy.origin is not None, "the autograder itself needs NumPy"
    found = [Path(numpy.origin).parent.parent, *(Path(sysconfig.get_path(name)) for name in ("platlib", "purelib"))]
    return tuple(dict.fromkeys(folder.resolve() for folder in found if folder.is_dir()))


@functools.cache
def modules(distributions: tuple[str, ...]) -> dict[str, Path]:
    """The files and folders that some distributions are made of, and all that they need, by name."""
    found: dict[str, Path] = {}
    seen, waiting = set(), list(distributions)
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        try:
            one = distribution(name)
        except PackageNotFoundError:  # needed elsewhere, with another Python or on another system
            continue
        needed = (re.match(r"[\w.-]+", line) for line in one.requires or [] if "extra ==" not in line)
        waiting += [name[0] for name in needed if name]
        found |= {name: Path(str(one.locate_file(name))) for name in _names(one)}
    return {name: path.resolve() for name, path in sorted(found.items()) if path.exists()}


def _names(one: Distribution) -> set[str]:
    names = {file.parts[0] for file in one.files or ()} or {one.metadata["Name"]}
    return {name for name in names if name != "__pycache__" and not name.endswith((".", "-info", ".pth"))}


def strangers() -> list[Path]:
    """Package folders inside `libraries()`: they are to be covered, since `modules` are put elsewhere."""
    standard = Path(sysconfig.get_path("stdlib"))
    candidates = [standard / "site-packages", standard / "dist-packages", standard.parent / "python3" / "dist-packages"]
    return [folder for folder in candidates if folder.is_dir()]
