"""Judge the answers of this folder with the public keys.

    python -m tests.explanations.judged [--vague]

prints each wrong answer after a public report, what is wrong with it, and all that a student reads about it, then the
share of these whose mistake the judge names, or for which it gives a true relation.
"""

import argparse
import importlib
import pkgutil
from collections import Counter
from copy import copy
from dataclasses import dataclass
from functools import cache

from tabulate import tabulate

from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import make_key, public_key
from autograder.layout import chapter_names, exercise_names, number_and_word
from check.calling import run
from check.key import Key
from check.measuring import outcomes_of
from check.scoring import Result, grade, judge
from tests.explanations import answers
from tests.explanations.registry import RIGHT, WRONG, Answer

for module in pkgutil.iter_modules(answers.__path__):
    importlib.import_module(f"{answers.__name__}.{module.name}")

__all__ = ["RIGHT", "WRONG", "Judged", "accepted", "judged"]


@dataclass(frozen=True)
class Judged:
    """What the judge says about an answer. slugs: those of the mistakes that it names, the first explains most."""

    result: Result
    slugs: tuple[str, ...]

    @property
    def text(self) -> str:
        """The sentences about values, without names of mistakes."""
        verdict = self.result.verdict
        return " ".join([verdict.message if verdict else "", *self.result.remarks])


def judged(answer: Answer) -> Judged:
    """Return what the judge says about an answer, with the public key of its exercise."""
    key = public_key(find_exercise(answer.exercise))
    result = grade(key, outcomes_of(answer.function, key))
    slugs = {key.mistake(slug): slug for slug in (*key.mistakes, *key.inherited)}
    return Judged(result, tuple(slugs[mistake] for mistake in result.mistakes))


@cache
def bare_key(exercise: str, seed: int) -> Key:
    """The key without its known mistakes, which take most of the time that a key takes."""
    bare = copy(find_exercise(exercise))
    bare.mistakes = {}
    return make_key(bare, seed)


def accepted(answer: Answer, seed: int) -> bool:
    """Whether an answer passes every case of the key of that seed."""
    key = bare_key(answer.exercise, seed)
    return all(judge(key, case, run(answer.function, case.inputs)).passed for case in key.cases)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vague", action="store_true", help="print only those that no name and no relation explains")
    options = parser.parse_args()
    reported = [answer for answer in WRONG if answer.address]
    for answer in reported:
        if not options.vague or answer.kind == "vague":
            seen = judged(answer)
            print(f"\n{answer.id} ({answer.kind})\n  {answer.function.__doc__}\n  {seen.text}")
            for mistake in seen.result.mistakes:
                print(f"  -> {mistake.name}")
    print()
    rows = []
    for chapter in chapter_names():
        word, names = number_and_word(chapter)[1], exercise_names(chapter)
        kinds = Counter(answer.kind for answer in reported if answer.exercise in names)
        rows.append([word, kinds.total(), kinds["name"], kinds["relation"], kinds["vague"]])
    rows.append(["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])])
    print(tabulate(rows, headers=["chapter", "wrong answers", "named", "related", "vague"]))
    print(f"\n{100 * (rows[-1][2] + rows[-1][3]) / rows[-1][1]:.0f}% named or related")


if __name__ == "__main__":
    main()
