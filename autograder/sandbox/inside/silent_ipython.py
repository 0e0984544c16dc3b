"""Replace IPython, which the sandbox lacks. Student code may import and use all of it, without any effect."""

import importlib.machinery
import types
from collections.abc import Iterator
from typing import Any

from check import allowed_imports


class _Silent:
    """Stands for any value of IPython, such as `display`, `HTML("<b>x</b>")` or the shell."""

    def __getattr__(self, name: str) -> "_Silent":
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return SILENT

    def __call__(self, *args: Any, **kwargs: Any) -> "_Silent":
        return SILENT

    def __getitem__(self, key: object) -> "_Silent":
        return SILENT

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> "_Silent":
        return SILENT

    def __exit__(self, *exception: object) -> None:
        pass

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        return ()

    def __instancecheck__(self, instance: object) -> bool:
        return False


SILENT = _Silent()
# The names from `from IPython.display import *` that notebooks use.
_PUBLIC = (
    "Audio Code HTML IFrame Image JSON Javascript Latex Markdown Math Pretty ProgressBar SVG Video YouTubeVideo "
    "clear_output display update_display"
)


class _SilentModule(types.ModuleType):
    """A module of IPython."""

    __all__ = _PUBLIC.split()
    # Matplotlib reads this version: below 8.24 it calls functions of IPython.
    __version__, version_info = "9.0.0", (9, 0, 0)

    def __getattr__(self, name: str) -> _Silent:
        return getattr(SILENT, name)


class SilentFinder:
    """The finder and loader of IPython's modules, placed before Python's own finders."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module of IPython. For any other module return None, so that the next finder looks."""
        if name.partition(".")[0] not in allowed_imports.SHOWING:
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)  # type: ignore[arg-type]

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """Return a module that does nothing."""
        return _SilentModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Do nothing: the module has no code."""
