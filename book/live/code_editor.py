"""The files of the editor that are not our scripts: CodeMirror, its licences, and the names in NumPy and math."""

import json
import math
from pathlib import Path

import numpy as np

CODEMIRROR = Path(__file__).with_name("codemirror")
BUNDLE, LICENCES = CODEMIRROR / "codemirror.js", CODEMIRROR / "codemirror-MIT.txt"
MODULES = {"np": np, "np.linalg": np.linalg, "np.random": np.random, "math": math}


def editor_files() -> dict[str, bytes]:
    """Return path -> content of the files, beside the scripts of the pages."""
    return {
        BUNDLE.name: BUNDLE.read_bytes(),
        f"licences/{LICENCES.name}": LICENCES.read_bytes(),
        "members.js": f"export const members = {json.dumps(members())};\n".encode(),
    }


def members() -> dict[str, list[str]]:
    """Return the names that the editor completes after the name of a module and a dot: name of the module -> names.

    Names with an underscore at an end, such as `r_`, are left out: they would only make the list longer.
    """
    public = {name: getattr(module, "__all__", dir(module)) for name, module in MODULES.items()}
    return {
        name: sorted(member for member in members if member == member.strip("_")) for name, members in public.items()
    }
