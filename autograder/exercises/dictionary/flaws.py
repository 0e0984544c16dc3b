"""Wrong programs of chapter 12: where each differs from the right one, and which tests find it. Readers predict it."""

from functools import cache

from autograder.exercises.dictionary.programs import PROGRAMS, found_by

TESTS = ("slope", "reference", "later token")


FLAWS: dict[str, tuple[str, ...]] = {
    "forward": (
        "sees the next token",
        "has no mask",
        "forgets to add x",
        "uses each gain for the other norm",
        "turns the queries alone",
        "does not add the feed-forward",
    ),
    "backward": (
        "turns the gradient forwards",
        "does not turn the gradient",
        "forgets the second term of the gate's slope",
        "takes a group's gradient from its first head",
        "averages a group's gradient",
        "forgets to divide the gradient of the scores",
        "goes back through the softmax without its sum",
        "goes back through the norm without the size",
        "forgets what goes straight through",
        "counts a repeated token once",
        "forgets the table's gradient as the first layer",
        "forgets the table's gradient as the last layer",
    ),
    "both": (
        "turns the values too",
        "pairs column i with i + d/2",
        "turns nothing",
        "has a gate without its sigmoid",
        "has a sigmoid as its gate",
        "lets the heads of a group take turns",
        "does not divide the scores",
        "does not scale the look-up",
        "has no last norm",
        "counts positions from 1,000",
    ),
    "loss": ("counts padding as a target", "adds up the losses of all tokens"),
    "optimiser": ("lets the gains decay", "adds the decay to the gradient", "does not correct the moments"),
}
SHOWN = (  # in the chapter
    "turns the gradient forwards",
    "lets the heads of a group take turns",
    "has no mask",
    "forgets to add x",
    "counts a repeated token once",
    "counts padding as a target",
)
MORE_AT_HOME = (  # the others are in no public key
    "averages a group's gradient",
    "forgets the table's gradient as the last layer",
    "has a sigmoid as its gate",
    "has no last norm",
    "counts positions from 1,000",
    "does not correct the moments",
    "forgets what goes straight through",
    "turns nothing",
)


def asked(names: tuple[str, ...]) -> list[dict[str, str]]:
    """Return the programs of these names as the exercise describes them."""
    changes = {name: where for where, names in FLAWS.items() for name in names}
    return [{"flaw": name, "changes": changes[name]} for name in names]


@cache
def tests_that_find(name: str) -> tuple[bool, ...]:
    """Return which of TESTS find a program."""
    found = found_by(PROGRAMS[name])
    return tuple(test in found for test in TESTS)
