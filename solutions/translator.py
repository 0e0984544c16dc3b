"""The trained model of chapter 9: number words, English to German.

    python -m solutions.translator FILE.npz

trains a small one (32 features, one layer each side, 15 CPU seconds) and writes its parameters, for chapters that
show a layer at work in a model that translates.
"""

import sys

import numpy as np

from solutions import numbers
from solutions.decoding import incremental_greedy_decode
from solutions.parameters import initialise, save
from solutions.training import average, train

D_MODEL, N_HEADS = 32, 4


def learn(seed, n_steps=2000):
    """Train on 20,000 numbers and repeatedly on short ones; average every tenth step of the last quarter.

    Only one number in a thousand is below 100. A model that meets them so rarely writes "sieben und vier" for 7.

    Args:
        seed: decides the split, the first parameters and the batches.
        n_steps: batches of 64 numbers.

    Returns:
        params: the averaged parameters.
        losses: list of n_steps floats.
        test, test_pairs: unseen numbers, see `numbers.split`.
    """
    rng = np.random.default_rng(seed)
    known, test, test_pairs = numbers.split(rng)
    start = initialise(rng, {"shared": len(numbers.VOCABULARY)}, D_MODEL, 4 * D_MODEL, 1, 1, dtype=np.float32)
    short = [np.resize(known[known < limit], count) for limit, count in ((1000, 5_000), (100, 2_500))]
    batches = numbers.batches(rng, np.concatenate([known[:20_000], *short]), size=64, n_batches=n_steps)
    losses, checkpoints = [], []
    for params, loss in train(start, batches, N_HEADS, warmup=200, peak=0.25):
        losses.append(loss)
        if len(losses) > 0.75 * n_steps and len(losses) % 10 == 0:
            checkpoints.append(params)
    return average(checkpoints), losses, test, test_pairs


def translate(params, number_list):
    """Translate numbers from English words to German tokens; also return the share of exact translations."""
    src, tgt = numbers.batch(number_list)
    tokens = incremental_greedy_decode(params, src, N_HEADS)
    return tokens, numbers.exact_match(tokens, tgt[:, 1:])


def main(path):
    params, _, test, test_pairs = learn(seed=0)
    save(path, params)
    for name, some in (("unseen numbers", test), ("unseen pairs", test_pairs), ("1 to 99", np.arange(1, 100))):
        print(f"{name}: {translate(params, some)[1]:.2%}")


if __name__ == "__main__":
    main(*sys.argv[1:])
