"""The learning-rate schedule of the paper. Given code, not an exercise."""


def noam_learning_rate(step, d_model, warmup=4000):
    """The learning rate of a step: it rises linearly, then falls as 1 / sqrt(step).

    Args:
        step: 1, 2, 3, ...
        d_model: width of the model; wider models learn at smaller rates.
        warmup: the step at which the two branches meet and the rate is
        largest.

    Returns:
        rate: float

    Raises:
        ValueError: step is smaller than 1.

    Source: Vaswani et al. 2017, equation 3.
    """
    if step < 1:
        raise ValueError(f"steps count from 1, and this one is {step}")
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
