"""Train the model of a chapter with several seeds, and print the numbers behind the limits of grading and audit.

    python benchmarks/weight_limits.py CHAPTER [--seeds 10] [--steps 1500] [--write SEED FILE.npz]

For each seed it trains a third, two thirds and all of the steps, the book's by default. For each run it prints the
figure that grading limits, on all withheld words, the correlation of the matrices with those before training, and the
processor time. After the seeds it prints the largest likeness of two models of different seeds. Then it runs the
first seed again with the words of each batch in another order, so that sums are rounded differently, and compares the
two runs as `autograder audit` does. With --write it trains one seed and writes the file of weights: those of seed 1 are
`autograder/example/honest_project.npz` and `honest_dictionary.npz`, and chapter 10's of seed 0 are
`chapters/book_weights.npz`. All steps take about a minute of processor time in chapter 10, and three in chapter 12.
"""

import argparse
import importlib
import os
import sys
import time
from itertools import permutations
from pathlib import Path
from typing import Any
from unittest import mock

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy is imported
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from autograder.example.example_weights import saved
from autograder.grading.audit import correlation, hidden_columns, is_in_matrix, likeness
from autograder.layout import number_and_word


def reversed_rows(batch: Any) -> Any:
    """Return a batch, an array or several, with its rows in another order."""
    return tuple(map(reversed_rows, batch)) if isinstance(batch, tuple) else batch[::-1]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("chapter", metavar="CHAPTER")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--write", nargs=2, metavar=("SEED", "FILE"))
    options = parser.parse_args()
    weights = importlib.import_module(f"autograder.exercises.{number_and_word(options.chapter)[1]}.weights")
    hand_in, model, namespace = weights.hand_in, weights.model, {}
    exec(hand_in.model, namespace)
    all_steps = options.steps or model.RECIPE["steps"]

    def vector(seed: int, steps: int) -> np.ndarray:
        return hand_in.retrained(model.RECIPE | {"seed": seed, "steps": steps}).astype(np.float16)

    if options.write:
        recipe = model.RECIPE | {"seed": int(options.write[0]), "steps": all_steps}
        Path(options.write[1]).write_bytes(saved(vector(recipe["seed"], all_steps), recipe))
        return
    rows, right = weights.withheld(0, weights.N_WITHHELD)
    in_matrix, models = is_in_matrix(hand_in.expected), []
    for seed in range(options.seeds):
        start = hand_in.start({"seed": seed})[in_matrix]
        for share in (1, 2, 3):
            before, steps = time.process_time(), round(share * all_steps / 3)
            trained = vector(seed, steps)
            seconds = time.process_time() - before
            figure = hand_in.figure(namespace["measured"](trained, rows), right)
            print(
                f"seed {seed}, {steps} steps: {figure:.3f} on withheld words, correlation with the start "
                f"{correlation(trained[in_matrix], start):.3f}, {seconds:.0f} CPU s",
                flush=True,
            )
        models.append(trained)
    columns = [hidden_columns(one, hand_in, rows) for one in models]
    alike = [likeness(one, other) for one, other in permutations(columns, 2)]
    print(f"two models of different seeds: likeness {max(alike, default=0):.3f} at most")
    in_order = model.endless_batches
    with mock.patch.object(model, "endless_batches", lambda *args: map(reversed_rows, in_order(*args))):
        second = vector(0, all_steps)[in_matrix]
    start, first = hand_in.start({"seed": 0})[in_matrix], models[0][in_matrix]
    way = np.linalg.norm(first - start) / np.linalg.norm(second - start)
    print(f"seed 0 again: correlation {correlation(first, second):.3f}, moved {way:.3f} times as far")


if __name__ == "__main__":
    main()
