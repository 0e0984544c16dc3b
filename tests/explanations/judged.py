"""Judge the answers of this folder with the public keys.

    python -m tests.explanations.judged [--vague]

prints each wrong answer, what is wrong with it, and all that a student reads about it, then the share of answers whose
mistake the judge names, or of which it gives a true relation.
"""

import argparse
import importlib
import pkgutil
from collections import Counter
from dataclasses import dataclass

from tabulate import tabulate

import tests.explanations
from autograder.authoring.exercise import find_exercise
from autograder.authoring.make_key import public_key
from autograder.layout import chapter_names, number_and_word
from check.measuring import outcomes_of
from check.scoring import Result, grade
from tests.explanations.registry import RIGHT, WRONG, Answer

CHAPTERS = {number_and_word(chapter)[1]: chapter for chapter in chapter_names()}
for module in pkgutil.iter_modules(tests.explanations.__path__):
    if module.name in (*CHAPTERS, "right_layers", "right_training"):
        importlib.import_module(f"tests.explanations.{module.name}")

__all__ = ["RIGHT", "WRONG", "Judged", "judged"]


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
    slugs = {mistake: slug for slug, mistake in key.mistakes.items()}
    return Judged(result, tuple(slugs[mistake] for mistake in result.mistakes))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--vague", action="store_true", help="print only those that no name and no relation explains")
    options = parser.parse_args()
    for answer in WRONG:
        if not options.vague or answer.kind == "vague":
            seen = judged(answer)
            print(f"\n{answer.id} ({answer.kind})\n  {answer.function.__doc__}\n  {seen.text}")
            for mistake in seen.result.mistakes:
                print(f"  -> {mistake.name}")
    print()
    rows = []
    for word in CHAPTERS:
        kinds = Counter(answer.kind for answer in WRONG if answer.function.__module__.endswith(word))
        rows.append([word, kinds.total(), kinds["name"], kinds["relation"], kinds["vague"]])
    rows.append(["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])])
    print(tabulate(rows, headers=["chapter", "wrong answers", "named", "related", "vague"]))
    print(f"\n{100 * (rows[-1][2] + rows[-1][3]) / rows[-1][1]:.0f}% named or related")


if __name__ == "__main__":
    main()
