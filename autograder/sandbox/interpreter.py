"""Which files a bare Python with NumPy needs, found out rather than written down."""

import functools
import importlib.util
import os
import sys
import sysconfig
from pathlib import Path


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
    """The folders third-party packages are imported from: NumPy's own first."""
    numpy = importlib.util.find_spec("numpy")
    assert numpy is not None and numpy.origin is not None, "the autograder itself needs NumPy"
    found = [Path(numpy.origin).parent.parent, *(Path(sysconfig.get_path(name)) for name in ("platlib", "purelib"))]
    return tuple(dict.fromkeys(folder.resolve() for folder in found if folder.is_dir()))


def strangers() -> list[Path]:
    """Package folders inside `libraries()` that are not among `packages()`: they are to be covered."""
    standard = Path(sysconfig.get_path("stdlib"))
    candidates = [standard / "site-packages", standard / "dist-packages", standard.parent / "python3" / "dist-packages"]
    return [folder for folder in candidates if folder.is_dir() and folder.resolve() not in packages()]
