import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import changing, short_mistakes
from solutions import since as reference
from solutions.attention import softmax
from solutions.logarithms import log_softmax

reverse_divergence = Exercise(
    reference.reverse_divergence,
    outputs={"loss": "", "grad_logits": "... T vocab"},
    section="The student writes: yours to derive",
    tolerance=1e-6,  # for the loss, which is float32 in one case
)
wrong = short_mistakes(reverse_divergence)
changed = changing(reference.reverse_divergence)


def a_lesson(draw, n_axes=0, dtype=np.float64, share=0.6):
    """Return logits of student and teacher for random positions. share: the share of positions that count.

    The logits are spread evenly, at most 4 apart for the student and 0.6 for the teacher. Then 1e-7 added to the
    probabilities stays within the tolerance, and 1e-6 does not.
    """
    T, vocab, *batch = draw.sizes(2 + n_axes, low=3, high=9)
    counts = draw.rng.random((*batch, T)) < share
    counts.reshape(-1, T)[0, : T if batch else 1] = True  # sentences differ in how many positions count
    counts.flat[-1] = False
    even = np.broadcast_to(np.linspace(-1, 1, vocab), (*batch, T, vocab))
    student, teacher = (draw.rng.permuted(even, axis=-1) for _ in range(2))
    widths = draw.rng.uniform(1.9, 2, (*batch, T, 1))
    return {
        "logits": (widths * student).astype(dtype),
        "teacher_logits": (0.3 * teacher).astype(dtype),
        "counts": counts,
    }


@reverse_divergence.cases("every position counts", points=2)
def _(draw):
    for name, n_axes in {"one position": None, "one text": 0, "a batch": 1}.items():
        inputs = a_lesson(draw, n_axes or 0)
        if n_axes is None:
            inputs = {key: array[:1] for key, array in inputs.items()}
        yield name, inputs | {"counts": np.ones_like(inputs["counts"])}


@reverse_divergence.cases("some positions count", points=1)
def _(draw):
    yield "one text", a_lesson(draw)
    yield "a batch", a_lesson(draw, 1)
    yield "two batch axes", a_lesson(draw, 2, share=0.4)


@reverse_divergence.cases("large logits, nothing that counts, float32", points=1)
def _(draw):
    inputs = a_lesson(draw)
    inputs["logits"] += 800
    inputs["logits"][:, 0] -= 1600
    inputs["teacher_logits"] -= 900
    yield "large logits", inputs
    surprised = a_lesson(draw)
    surprised["teacher_logits"][:, 0] -= 900
    yield "a token that the teacher hardly ever writes", surprised
    inputs = a_lesson(draw, 1)
    yield "nothing counts", inputs | {"counts": np.zeros_like(inputs["counts"])}
    yield "float32", a_lesson(draw, 1, np.float32)


def measured(logits, teacher_logits, counts, **put):
    """Return loss and gradient with parts replaced.

    put: `weights`, the distribution of the mean; `surplus`, of both logarithms; `grad`, from (student, teacher,
    surplus, divergence) to the gradient of a row; `n`, from counts to the divisor; `loss`, another loss;
    `keep`, from counts to the rows of the gradient that stay.
    """
    student, own, teacher = softmax(logits), log_softmax(logits), log_softmax(teacher_logits)
    surplus = put.get("surplus", lambda own, teacher: own - teacher)(own, teacher)
    weights = put.get("weights", lambda student, teacher: student)(student, np.exp(teacher))
    divergence = (weights * surplus).sum(axis=-1, keepdims=True)
    divisor = max(int(put.get("n", lambda counts: counts.sum())(counts)), 1)
    grad = put.get("grad", lambda p, q, surplus, divergence: p * (surplus - divergence))
    rows = grad(student, softmax(teacher_logits), surplus, divergence) / logits.dtype.type(divisor)
    keep = put.get("keep", lambda counts: counts)(counts)[..., None]
    loss = divergence[counts[..., None]].sum() / logits.dtype.type(divisor)
    return put.get("loss", loss), np.where(keep, rows, 0)


wrong("only_the_log", measured, grad=lambda p, q, surplus, divergence: np.zeros_like(p))("""
    differentiates the logarithm alone
    Your gradient is zero, up to rounding. You either never write to the array that you return, or treat the student's p
    in front of the logarithm as a constant. The student writes the text, so p is also how often each token comes, and
    the gradient comes from this factor.""")
wrong("stops_at_probabilities", measured, grad=lambda p, q, surplus, divergence: surplus + 1)("""
    stops at the probabilities
    You return the gradient of the student's probabilities. They are the softmax of the logits, so go back through the
    softmax, too: multiply by p after subtracting the mean under p.""")
wrong("without_the_mean", measured, grad=lambda p, q, surplus, divergence: p * surplus)("""
    leaves out the mean
    The gradient of a row does not add up to zero, but adding a constant to all logits changes nothing. Subtract the
    row's mean under p, which is the divergence itself, before you multiply by p.""")
wrong("multiplied_by_p", measured, grad=lambda p, q, surplus, divergence: p * (surplus + 1))("""
    multiplies the gradient of the probabilities by p alone
    You multiply the gradient of the probabilities, log p - log q + 1, by p. That is only half of the backward pass of a
    softmax. Subtract the mean under p first. The 1 then cancels, and the gradient of a row adds up to zero.""")
wrong(
    "plain_mean", measured, grad=lambda p, q, surplus, divergence: p * (surplus - surplus.mean(axis=-1, keepdims=True))
)("""
    subtracts a plain mean
    You subtract the plain mean over the vocabulary. Subtract the mean under p, in which each token counts as often as
    the student writes it.""")
wrong("forward_gradient", measured, grad=lambda p, q, surplus, divergence: p - q)("""
    takes the gradient of the other divergence
    Your loss is right, but the gradient p - q is that of KL(teacher || student), for texts that the teacher writes.
    Here the student writes, and the gradient has a different form.""")


@reverse_divergence.mistake("computes KL(teacher || student)")
def forward_divergence(logits, teacher_logits, counts):
    """Loss and gradient are those of KL(teacher || student), the divergence of ordinary distillation. The mean is over
    what the *student* writes, so p is in front of the logarithm."""
    return measured(
        *(logits, teacher_logits, counts),
        weights=lambda student, teacher: teacher,
        surplus=lambda own, teacher: teacher - own,
        grad=lambda p, q, surplus, divergence: p - q,
    )


wrong("wrong_sign", changed, change=lambda loss, grad: (-loss, -grad))("""
    has the wrong sign
    The loss is negative: log q - log p says how much *less* likely a token is for the student. A divergence is never
    negative, and a step against your gradient would lead away from the teacher.""")
wrong("wrong_sign_of_gradient", changed, change=lambda loss, grad: (loss, -grad))("""
    has the wrong sign in the gradient
    The loss is right, but the gradient points downhill. A token has a positive gradient if its surplus, log p - log q,
    is above the mean.""")
wrong("all_positions", measured, n=lambda counts: counts.size)("""
    divides by all positions
    You add up the positions that count, but divide by the number of all positions. A text with a long question then has
    a smaller loss. Divide by the number of positions that count.""")


@reverse_divergence.mistake("ignores counts")
def all_count(logits, teacher_logits, counts):
    """The question and padding count like the answer. The student has not written them. Leave them out of the sum and
    of the number of positions, and give them a gradient of zero."""
    return reference.reverse_divergence(logits, teacher_logits, np.ones_like(counts))


wrong("gradient_everywhere", measured, keep=np.ones_like)("""
    leaves positions that do not count in the gradient
    The loss is right, but positions that do not count have a gradient. A position that is not in the loss has a
    gradient of zero.""")
wrong("summed", measured, n=lambda counts: 1)("""
    adds up instead of taking the mean
    You add up loss and gradient over the positions that count. Divide both by the number of these positions.""")


@reverse_divergence.mistake("forgets to divide the gradient")
def gradient_summed(logits, teacher_logits, counts):
    """The loss is a mean over the positions that count, but your gradient is that of their sum. Divide the gradient by
    the same number."""
    loss, _ = reference.reverse_divergence(logits, teacher_logits, counts)
    return measured(logits, teacher_logits, counts, n=lambda counts: 1, loss=loss)


@reverse_divergence.mistake("takes the mean of each text first")
def mean_of_means(logits, teacher_logits, counts):
    """You average within each text and then over the texts, so a token of a short answer counts more than one of a long
    answer. Here all positions that count have the same weight. With one text the two agree."""
    per_text = np.maximum(counts.sum(axis=-1, keepdims=True), 1) * max(counts[..., 0].size, 1)
    total = max(int(counts.sum()), 1)
    _, grad = reference.reverse_divergence(logits, teacher_logits, counts)
    student, surplus = softmax(logits), log_softmax(logits) - log_softmax(teacher_logits)
    rows = (student * surplus).sum(axis=-1)
    loss = (np.where(counts, rows, 0) / per_text).sum().astype(logits.dtype)
    return loss, (grad * (total / per_text)[..., None]).astype(logits.dtype)


@reverse_divergence.mistake("divides by zero if nothing counts")
def zero_by_zero(logits, teacher_logits, counts):
    """If no position counts you divide by zero. Return a loss of 0 and a gradient of zeros: divide by at least 1."""
    loss, grad = reference.reverse_divergence(logits, teacher_logits, counts)
    return (loss, grad) if counts.any() else (loss * np.nan, grad * np.nan)


def by_logarithms(logits, teacher_logits, counts, *, number):
    """Return loss and gradient from the logarithms of probabilities plus a number."""
    student = softmax(logits)
    with np.errstate(all="ignore"):
        surplus = np.log(student + number) - np.log(softmax(teacher_logits) + number)
        divergence = (student * surplus).sum(axis=-1, keepdims=True)
        n_counted = logits.dtype.type(max(int(counts.sum()), 1))
        grad = student * (surplus - divergence) / n_counted
        return divergence[counts].sum() / n_counted, np.where(counts[..., None], grad, 0)


wrong("log_of_softmax", by_logarithms, number=0.0)("""
    takes the logarithm of a softmax
    A probability that underflows to 0 has the logarithm -inf, and 0 times inf is NaN. Compute the logarithms directly,
    with `log_softmax`.""")


@reverse_divergence.mistake("adds {number} inside the logarithms", number=(1e-12, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10))
def log_of_a_little_more(logits, teacher_logits, counts, *, number):
    """You add {number} to the probabilities before you take their logarithms. That prevents minus infinity, but then no
    logarithm can fall below that of {number}. Compute the logarithms directly, with `log_softmax`."""
    return by_logarithms(logits, teacher_logits, counts, number=number)


wrong("cross_entropy_alone", measured, surplus=lambda own, teacher: -teacher)("""
    leaves out the student's own logarithm
    You compute the cross-entropy -sum(student * log teacher). The divergence also contains the student's own logarithm.
    Without this term, the best student writes only the teacher's likeliest token.""")
wrong("promoted", changed, change=lambda loss, grad: (loss, grad.astype(np.float64)))("""
    returns float64 for float32
    Your gradient is float64 although the logits are float32. A product with a float64 array does that; multiply by the
    boolean array, or use `np.where`.""")
wrong(
    "no_logarithms",
    measured,
    surplus=lambda own, teacher: np.exp(own) - np.exp(teacher),
    grad=lambda p, q, surplus, divergence: p * (surplus + p - divergence - (p * p).sum(axis=-1, keepdims=True)),
)("""
    compares probabilities, not their logarithms
    You subtract the teacher's probabilities from the student's, but the divergence contains a difference of logarithms.
    Use `log_softmax` for both.""")


@reverse_divergence.equivalent
def by_the_softmax_backward(logits, teacher_logits, counts):
    p = softmax(logits)
    weight = (counts / max(counts.sum(), 1)).astype(logits.dtype)[..., None]
    surplus = log_softmax(logits) - log_softmax(teacher_logits)
    grad_p = weight * (surplus + 1)
    return (weight * p * surplus).sum(), p * (grad_p - (p * grad_p).sum(axis=-1, keepdims=True))


@reverse_divergence.equivalent
def position_by_position(logits, teacher_logits, counts):
    loss, grad = logits.dtype.type(0), np.zeros_like(logits)
    n = logits.dtype.type(max(np.count_nonzero(counts), 1))
    for index in zip(*np.nonzero(counts), strict=True):
        own, teacher = log_softmax(logits[index]), log_softmax(teacher_logits[index])
        p = np.exp(own)
        divergence = p @ (own - teacher)
        loss += divergence / n
        grad[index] = p * (own - teacher - divergence) / n
    return loss, grad


@reverse_divergence.equivalent
def with_jacobians(logits, teacher_logits, counts):
    p = softmax(logits)
    surplus = log_softmax(logits) - log_softmax(teacher_logits)
    jacobians = p[..., :, None] * (np.eye(p.shape[-1], dtype=p.dtype) - p[..., None, :])
    rows = np.einsum("...ij,...j->...i", jacobians, surplus)
    n = p.dtype.type(max(int(counts.sum()), 1))
    divergences = np.einsum("...i,...i->...", p, surplus)
    return divergences[counts].sum() / n, rows * counts[..., None] / n
