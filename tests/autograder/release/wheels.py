"""Record which wheels a bundle's packages have, for each Python and system that a student may have.

`python -m tests.autograder.release.wheels` asks uv, which has to be installed, and writes the answers to `wheels.json`.
uv resolves a bundle's whole requirements.txt, and refuses a package that it would have to build.
"""

import json
import re
import subprocess
from pathlib import Path

from autograder.chapter.chapter import read_chapter
from autograder.layout import chapter_names
from autograder.release.bundle import files

RECORD = Path(__file__).with_name("wheels.json")
PYTHONS = ("3.11", "3.12", "3.13", "3.14", "3.15")
SYSTEMS = ("linux", "aarch64-unknown-linux-gnu", "windows", "macos", "x86_64-apple-darwin")


def requirements() -> str:
    """Return the requirements.txt of the bundles, one for all chapters."""
    (text,) = {files(read_chapter(name), [])["requirements.txt"].decode() for name in chapter_names()}
    return text


def versions(text: str, python: str, system: str) -> dict[str, str]:
    """Return name -> version of every package that uv would install. Raises CalledProcessError if it finds no wheel."""
    options = ("--python-version", python, "--python-platform", system, "--only-binary", ":all:", "--no-config", "-q")
    command = ("uv", "pip", "compile", "-", *options)
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return dict(re.findall(r"^([\w.-]+)==([\w.]+)", done.stdout, re.MULTILINE))


def answer(text: str, python: str, system: str) -> str:
    """Return the versions of the packages that a bundle names, and how many others uv would install with them."""
    found = versions(text, python, system)
    named = dict.fromkeys(re.findall(r"^([\w.-]+)==", text, re.MULTILINE))
    return " ".join([*(f"{name}=={found[name]}" for name in named), f"and {len(found) - len(named)} more"])


def main() -> None:
    """Record a bundle's requirements, and the answer for each Python and system."""
    text = requirements()
    answers = {f"{python} {system}": answer(text, python, system) for python in PYTHONS for system in SYSTEMS}
    record = {"requirements": text.splitlines(), "answers": answers}
    RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
