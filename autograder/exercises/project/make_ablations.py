"""Make the short runs with one change each that chapter 10 asks readers to order.

    python -m autograder.exercises.project.make_ablations

trains with one thread and writes two files. `ablations.npz` beside this script holds the losses of all runs, and
`chapters/ablations.npz` those of the five runs that the chapter shows. Each run has five seeds. All runs together take
about two minutes of processor time.
"""

import os

os.environ["OMP_NUM_THREADS"] = "1"  # set before NumPy is imported: more threads would add in a different order

import numpy as np

from autograder.exercises.project.ablations import BANK, CHANGES, SHOWN, Settings, changed
from autograder.layout import REPO
from solutions.model import forward
from solutions.parameters import initialise
from solutions.project import continue_run
from solutions.pronunciations import VOCABULARY, Words, load_words, pairs
from solutions.training import smoothed_cross_entropy, zero_moments

IN_CHAPTER = REPO / "chapters" / "ablations.npz"
N_SEEDS = 5


def short_run(run: Settings, seed: int, words: dict[str, Words]) -> float:
    """Train a small model for 160 steps, as the cell of the chapter does.

    Returns:
        loss: of 200 words of held-out families, without smoothing.
    """
    rng, n_layers = np.random.default_rng(seed), run["layers"]
    start = initialise(rng, {"shared": len(VOCABULARY)}, 32, 128, n_layers, n_layers, np.float32)
    known = words["known"]
    some = known.take(rng.permutation(len(known.letters))[: run["words"]])
    batches = [pairs(*some.take(rng.integers(len(some.letters), size=32))) for _ in range(160)]
    fresh = {"params": start, "moments": zero_moments(start), "step": 0}
    trained, _ = continue_run(fresh, batches, run["heads"], run["rate"], 60, 1.0, run["smoothing"])
    src, tgt = pairs(*words["held_out_families"].take(slice(200)))
    logits, _ = forward(trained["params"], src, tgt[:, :-1], run["heads"])
    return float(smoothed_cross_entropy(logits, tgt[:, 1:])[0])


def main() -> None:
    words = load_words(REPO / "chapters" / "pronunciations.npz")
    made = {}
    for name, values in CHANGES.items():
        for value in values:
            losses = [short_run(changed(name, value), seed, words) for seed in range(N_SEEDS)]
            made[f"{name}.{value:g}"] = np.array(losses, np.float32)
            print(name, value, np.round(losses, 2), flush=True)
    np.savez_compressed(BANK, **made)
    np.savez_compressed(IN_CHAPTER, **{name: made[f"{name}.{value:g}"] for name, value in SHOWN.items()})


if __name__ == "__main__":
    main()
