"""Dropout, forwards and backwards. Given code, not an exercise."""


def dropout(x, rate, rng=None):
    """In training, drop entries at random, and scale up the others.

    Args:
        x: any shape.
        rate: float in [0, 1), the probability that an entry is dropped.
        rng: a NumPy random generator; an entry is kept where
            `rng.random(x.shape) >= rate`.
            None: not training, nothing is dropped.

    Returns:
        output: the shape and dtype of x.
        cache: scale, what each entry was multiplied by: 0 or 1 / (1 - rate),
            in the shape and dtype of x; the number 1.0 without rng.

    Source: Srivastava et al. 2014 (JMLR 15), in the inverted form;
    Vaswani et al. 2017, section 5.4.
    """
    if rng is None:
        return x, 1.0
    kept = rng.random(x.shape) >= rate
    scale = kept.astype(x.dtype) / (1 - rate)
    return x * scale, scale


def dropout_backward(grad_output, cache):
    """Dropped entries get no gradient, and the others get a larger one.

    Args:
        grad_output: any shape.
        cache: scale, of `dropout`.

    Returns:
        grad_x: the shape and dtype of grad_output.

    Source: derived in this chapter.
    """
    return grad_output * cache
