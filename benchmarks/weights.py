"""Train the model of chapter 10 with several seeds, and print the numbers behind the limits of grading and audit.

    python benchmarks/weights.py [--seeds 10] [--steps 1500] [--write SEED FILE.npz]

For each seed it prints the error rate of the withheld words after a third, two thirds and all of the steps, the
correlation of the matrices with those before training, and the processor time. After the seeds it prints the largest
correlation of two models of different seeds. Then it runs the first seed again with the words of each batch in another
order, so that sums are rounded differently, and compares the two runs as `autograder audit` does. With --write it
trains one seed and writes the file of weights: chapters/book_weights.npz is that of seed 0, and
autograder/example/honest_weights.npz that of seed 1. A training takes about 65 seconds of processor time.
"""

import argparse
import os
import sys
import time
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from unittest import mock

os.environ["OMP_NUM_THREADS"] = "1"  # before NumPy is imported
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import numpy as np

from autograder.example.weights import saved
from autograder.exercises.project.weights import FOLDER, hand_in, known
from autograder.grading.audit import correlation, is_in_matrix
from solutions import letters_to_sounds as model
from solutions.parameters import flatten, unflatten
from solutions.pronunciations import load_words
from solutions.training import average

IN_MATRIX = is_in_matrix(hand_in.expected)


def vectors(seed: int, steps: int, ends: tuple[int, ...]) -> Iterator[tuple[int, np.ndarray]]:
    """Yield an end and the float16 vector that a recipe of this many steps makes, for each of some ends of one run."""
    kept = []
    recipe = model.RECIPE | {"seed": seed, "steps": steps}
    for run, _ in model.train(recipe, *known()):
        kept.append((run["step"], run["params"]))
        if run["step"] in ends:
            late = [params for step, params in kept if step > (1 - recipe["averaged"]) * run["step"]]
            yield run["step"], flatten(average(late or [run["params"]])).astype(np.float16)


def rate(vector: np.ndarray) -> float:
    """Return the error rate of all withheld words."""
    letters, sounds = load_words(FOLDER / "withheld.npz")["withheld"]
    params = unflatten(vector.astype(np.float32), model.fresh_model(0))
    return hand_in.error_rate(model.transcribe(params, letters), sounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--steps", type=int, default=model.RECIPE["steps"])
    parser.add_argument("--write", nargs=2, metavar=("SEED", "FILE"))
    options = parser.parse_args()
    if options.write:
        recipe = model.RECIPE | {"seed": int(options.write[0]), "steps": options.steps}
        ((_, vector),) = vectors(recipe["seed"], options.steps, (options.steps,))
        Path(options.write[1]).write_bytes(saved(vector, recipe))
        return
    ends = tuple(model.EVERY * round(share * options.steps / model.EVERY / 3) for share in (1, 2, 3))
    models = {}
    for seed in range(options.seeds):
        before, start = time.process_time(), hand_in.start({"seed": seed})[IN_MATRIX]
        for end, vector in vectors(seed, options.steps, ends):
            seconds = time.process_time() - before
            models[seed, end] = vector[IN_MATRIX]
            print(
                f"seed {seed}, {end} steps: {rate(vector):.1%} wrong, correlation with the start "
                f"{correlation(vector[IN_MATRIX], start):.3f}, {seconds:.0f} CPU s",
                flush=True,
            )
    alike = [
        correlation(models[one, ends[-1]], models[other, ends[-1]])
        for one, other in combinations(range(options.seeds), 2)
    ]
    print(f"two models of different seeds: correlation {max(alike, default=0):.3f} at most")
    in_order = model.endless_batches
    with mock.patch.object(model, "endless_batches", lambda *args: ((s[::-1], t[::-1]) for s, t in in_order(*args))):
        for end, vector in vectors(0, options.steps, ends):
            start, first, second = hand_in.start({"seed": 0})[IN_MATRIX], models[0, end], vector[IN_MATRIX]
            way = np.linalg.norm(first - start) / np.linalg.norm(second - start)
            print(
                f"seed 0 again, {end} steps: correlation {correlation(first, second):.3f}, moved {way:.3f} times as far"
            )


if __name__ == "__main__":
    main()
