"""Wrong answers about the loss, Adam and the training step."""

import numpy as np

from solutions import model, training
from solutions.logarithms import log_softmax
from solutions.parameters import map_tree
from solutions.project import clip_gradients
from tests.explanations.registry import wrong

# ------------------------------------------------------------------------------------------- the loss


def by_labels(labels_of):
    """A loss by labels_of(one-hot labels, number of classes, smoothing)."""

    def loss(logits, targets, smoothing=0.0, pad=0):
        counted, n_classes = targets != pad, logits.shape[-1]
        labels = labels_of(np.eye(n_classes)[targets[counted]], n_classes, smoothing)
        return -(labels * log_softmax(logits[counted])).sum() / max(1, counted.sum()), None

    return loss


LABELS = {
    "one_class_too_few": lambda one_hot, k, eps: np.where(one_hot, 1 - eps, eps / (k - 2)),
    "even_part_unscaled": lambda one_hot, k, eps: (1 - eps) * one_hot + 1 / k,
    "right_part_unscaled": lambda one_hot, k, eps: one_hot + eps / k,
}
for slug, labels_of in LABELS.items():
    wrong("smoothed_cross_entropy", names=slug, name=slug)(by_labels(labels_of))


def by_two_masks(summed, divided):
    """A loss that adds up by one mask and divides by another; both take (targets, pad)."""

    def loss(logits, targets, smoothing=0.0, pad=0):
        labels = (1 - smoothing) * np.eye(logits.shape[-1])[targets] + smoothing / logits.shape[-1]
        surprises = -(labels * log_softmax(logits)).sum(axis=-1)
        return surprises[summed(targets, pad)].sum() / max(1, divided(targets, pad).sum()), None

    return loss


def not_padding(targets, pad):
    return targets != pad


def not_zero(targets, pad):
    return targets != 0


wrong("smoothed_cross_entropy", names="divided_by_another_mask", name="sum_by_pad")(by_two_masks(not_padding, not_zero))
wrong("smoothed_cross_entropy", names="summed_by_another_mask", name="sum_by_zero")(by_two_masks(not_zero, not_padding))


@wrong("smoothed_cross_entropy", names="mean_over_classes")
def mean_over_the_vocabulary(logits, targets, smoothing=0.0, pad=0):
    loss, cache = training.smoothed_cross_entropy(logits, targets, smoothing, pad)
    return loss / logits.shape[-1], cache


# ------------------------------------------------------------------------------------------- Adam


def adam_by(quotient):
    """Adam whose step is the learning rate times quotient(parameter, m, v, m's factor, v's factor, eps)."""

    def step_of(parameters, gradients, moments, step, learning_rate, beta_1=0.9, beta_2=0.98, eps=1e-9):
        if step < 1:
            raise ValueError
        m = map_tree(lambda m, g: beta_1 * m + (1 - beta_1) * g, moments[0], gradients)
        v = map_tree(lambda v, g: beta_2 * v + (1 - beta_2) * g**2, moments[1], gradients)
        factors = 1 - beta_1**step, 1 - beta_2**step

        def moved(parameter, m, v):
            return (parameter - learning_rate * quotient(parameter, m, v, *factors, eps)).astype(parameter.dtype)

        return map_tree(moved, parameters, m, v), (m, v)

    return step_of


QUOTIENTS = {
    "weight_decay": lambda p, m, v, a, b, eps: m / a / (np.sqrt(v / b) + eps) + 0.01 * p,
    "eps_subtracted": lambda p, m, v, a, b, eps: m / a / (np.sqrt(v / b) - eps),
    "eps_hat": lambda p, m, v, a, b, eps: np.sqrt(b) / a * m / (np.sqrt(v) + eps),
    "corrected_by_a_root": lambda p, m, v, a, b, eps: m / np.sqrt(a) / (np.sqrt(v / np.sqrt(b)) + eps),
    "mean_corrected_by_a_root": lambda p, m, v, a, b, eps: m / np.sqrt(a) / (np.sqrt(v / b) + eps),
    "squares_corrected_by_a_root": lambda p, m, v, a, b, eps: m / a / (np.sqrt(v / np.sqrt(b)) + eps),
    "corrected_after_the_root": lambda p, m, v, a, b, eps: m / a / (np.sqrt(v) / b + eps),
}
for slug, quotient in QUOTIENTS.items():
    wrong("adam_step", names=slug, name=f"{slug}_in_a_quotient")(adam_by(quotient))

# ------------------------------------------------------------------------------------------- the training step


def trained(given=slice(None, -1), asked=slice(1, None), loss_smoothed=True, gradient_smoothed=True, from_loss=False):
    """A training step with other tokens, other smoothing, or the loss instead of its gradient."""

    def train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
        logits, cache = model.forward(params, src, tgt[:, given], n_heads, pad)
        loss, _ = training.smoothed_cross_entropy(logits, tgt[:, asked], smoothing * loss_smoothed, pad)
        _, loss_cache = training.smoothed_cross_entropy(logits, tgt[:, asked], smoothing * gradient_smoothed, pad)
        grad_logits = training.smoothed_cross_entropy_backward(loss if from_loss else 1.0, loss_cache)
        gradients = model.backward(grad_logits, cache)
        return *training.adam_step(params, gradients, moments, step, learning_rate), float(loss)

    return train_step


wrong("train_step", names="loss_as_its_gradient", name="from_the_loss")(trained(from_loss=True))
wrong("train_step", names="gradient_unsmoothed", name="hard_gradient")(trained(gradient_smoothed=False))
wrong("train_step", names="trains_hard", name="hard_labels")(trained(loss_smoothed=False, gradient_smoothed=False))
wrong("train_step", names="shift_reversed", name="input_and_target_exchanged")(trained(slice(1, None), slice(None, -1)))


# ------------------------------------------------------------------------------------------- the schedule


def run_with(of_rate, of_adam):
    """A training loop in which the schedule and Adam get step numbers that are too large."""

    def continue_run(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
        params, moments, step, log = run["params"], run["moments"], run["step"], []
        for src, tgt in batches:
            step += 1
            logits, cache = model.forward(params, src, tgt[:, :-1], n_heads, pad)
            loss, loss_cache = training.smoothed_cross_entropy(logits, tgt[:, 1:], smoothing, pad)
            gradients = model.backward(training.smoothed_cross_entropy_backward(1.0, loss_cache), cache)
            clipped, length = clip_gradients(gradients, longest)
            at = step + of_rate
            rate = peak * min(at / warmup, (warmup / at) ** 0.5 if at else 0)
            params, moments = training.adam_step(params, clipped, moments, max(1, step + of_adam), rate)
            log.append((float(loss), length))
        return {"params": params, "moments": moments, "step": step}, np.array(log).reshape(-1, 2)

    return continue_run


wrong("continue_run", names="one_behind", name="one_step_late")(run_with(-1, -1))
wrong("continue_run", names="one_ahead", name="one_step_early")(run_with(1, 1))
wrong("continue_run", names="schedule_behind", name="schedule_one_step_late")(run_with(-1, 0))
wrong("continue_run", names="schedule_ahead", name="schedule_one_step_early")(run_with(1, 0))


# ------------------------------------------------------------------------------------------- a run that continues


def continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, before):
    """Return parameters, moments, log and the last step of a loop whose first step is the one after `before`."""
    params, moments, log, step = run["params"], run["moments"], [], before
    for src, tgt in batches:
        step += 1
        logits, of_model = model.forward(params, src, tgt[:, :-1], n_heads, pad)
        loss, of_loss = training.smoothed_cross_entropy(logits, tgt[:, 1:], smoothing, pad)
        gradients = model.backward(training.smoothed_cross_entropy_backward(1.0, of_loss), of_model)
        clipped, length = clip_gradients(gradients, longest)
        rate = peak * min(step / warmup, (warmup / step) ** 0.5)
        params, moments = training.adam_step(params, clipped, moments, step, rate)
        log.append([loss, length])
    return params, moments, np.reshape(log, (-1, 2)), step


@wrong("continue_run", names="old_steps_forgotten")
def counts_these_batches(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    params, moments, log, step = continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, 0)
    return {"params": params, "moments": moments, "step": step}, log


@wrong("continue_run", names="new_steps_alone")
def returns_the_length_of_the_log(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    params, moments, log, _ = continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, run["step"])
    return {"params": params, "moments": moments, "step": len(log)}, log


@wrong("continue_run", names="step_to_come")
def returns_the_step_it_would_make_next(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    params, moments, log, step = continued(run, batches, n_heads, peak, warmup, longest, smoothing, pad, run["step"])
    return {"params": params, "moments": moments, "step": step + 1}, log


@wrong("continue_run", names="one_behind")
def counts_after_the_step(run, batches, n_heads, peak, warmup, longest, smoothing=0.1, pad=0):
    """Divides by zero in a fresh run."""
    params, moments, log, step = continued(
        run, batches, n_heads, peak, warmup, longest, smoothing, pad, run["step"] - 1
    )
    return {"params": params, "moments": moments, "step": step + 1}, log
