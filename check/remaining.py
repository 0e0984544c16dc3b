"""What is left to do in a notebook: every exercise is checked once more, as it stands now."""

from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from typing import Any

from check.blank import is_blank, waits_for
from check.bundle_data import notebooks
from check.checking import public_key, quietly_tried
from check.render import MARKS, as_code, as_list, boxed, paragraph
from check.showing import Shown, show


@dataclass(frozen=True)
class Standing:
    """How one exercise stands: whether it holds (None: there is nothing to hold yet), and its points."""

    name: str
    holds: bool | None
    said: str
    earned: float
    points: float


def what_is_left(chapter: str, space: dict[str, Any]) -> None:
    """Show which exercises of a chapter hold, which do not, which are still blank, and what to hand in.

    Args:
        chapter: "01_attention".
        space: the notebook's names, as `globals()` gives them.

    Raises:
        LookupError: no notebook of that name was unzipped here.
    """
    known = notebooks()
    if chapter not in known:
        raise LookupError(f"there is no chapter {chapter!r} here; there are: {', '.join(known) or 'none'}")
    show(told(chapter, [standing(name, space.get(name)) for name in known[chapter].exercises]))


def standing(name: str, function: Any) -> Standing:
    """How an exercise stands with this function, which is None if its cell has not been run."""
    key = public_key(name)
    nothing = ""
    if function is None:
        nothing = "its cell has not been run"
    elif not callable(function):
        nothing = "no function any more"
    elif isinstance(function, type) and find_spec("torch") is None:
        nothing = "PyTorch is not here to check it"
    elif is_blank(function):
        nothing = "not written yet"
    elif other := waits_for(function):
        nothing = f"waits for `{other}`"
    if nothing:
        return Standing(name, None, nothing, 0, key.points)
    aspects = quietly_tried(function, key)
    earned = sum(aspect.earned for aspect in aspects)
    said = f"{earned:g} of {key.points:g} points"
    return Standing(name, all(aspect.holds for aspect in aspects), said, earned, key.points)


def told(chapter: str, standings: list[Standing]) -> Shown:
    """All of it in words."""
    held, of = sum(bool(each.holds) for each in standings), len(standings)
    earned, points = (sum(getattr(each, which) for each in standings) for which in ("earned", "points"))
    head = f"{earned:g} of {points:g} points: {held} of {of} exercises hold."
    end = f"Save this notebook, then hand in this one file: `{chapter}.ipynb`"
    rows = [(each.holds, f"`{each.name}`: {each.said}") for each in standings]
    text = "\n".join([head, *(f"  {MARKS[holds][0]} {said}" for holds, said in rows), end])
    listed = as_list((holds, as_code(said)) for holds, said in rows)
    return Shown(text, boxed(f"<strong>{escape(head)}</strong>{listed}{paragraph(end)}", held == of or None))
