"""Load the templates of the instructor's pages, which share a style sheet, run nothing and escape all values."""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from autograder.version import version
from check.messages import lesson, sentence_as_html
from check.words import count


@cache
def templates() -> Environment:
    """Return the templates of templates/instructor/, with the filters that all of them use."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates" / "instructor"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals["version"] = version()
    environment.filters |= {
        "number": lambda value: f"{round(value, 2):g}",
        "count": count,
        "sentence": lambda text: Markup(sentence_as_html(" ".join(text.split()))),
        "lesson": lesson,
        "slug": lambda words: words.replace(" ", "-"),
    }
    return environment
