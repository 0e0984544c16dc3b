import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.short_mistakes import short_mistakes
from autograder.exercises.training.adam_step import by_differences
from autograder.exercises.training.shared import of_the_first_step
from solutions import model
from solutions import training as reference
from solutions.parameters import flatten, initialise, map_tree, unflatten
from solutions.smoothing import smooth_labels

train_step = Exercise(
    reference.train_step,
    outputs={"params": "", "moments": "", "loss": ""},
    order=("loss", "moments", "params"),
    section="One step of training",
)
wrong = short_mistakes(train_step)


def to_train(draw, step=None, dtype=np.float64, **others):
    vocab, d_model, n_heads = draw.size(8, 12), 6, 2
    params = initialise(draw.rng, {"shared": vocab}, d_model, draw.size(7, 10), 1, 1, dtype)
    N, T_src, T_tgt = draw.sizes(3, low=3, high=7)
    src, tgt = draw.tokens(N, T_src, vocab=vocab, low=3), draw.tokens(N, T_tgt + 1, vocab=vocab, low=3)
    tgt[:, 0], tgt[:, -1] = 1, 2
    src[0, -1] = tgt[1, -1] = 0
    tgt[1, -2] = 2
    mean = map_tree(lambda array: 0.1 * draw.normal(*array.shape, dtype=dtype), params)
    mean_of_squares = map_tree(lambda array: (0.5 + draw.normal(*array.shape) ** 2).astype(dtype), params)
    return {
        "params": params, "moments": (mean, mean_of_squares), "step": draw.size(2, 9) if step is None else step,
        "src": src, "tgt": tgt, "n_heads": n_heads, "learning_rate": float(draw.rng.uniform(0.05, 0.2)),
        "smoothing": float(draw.rng.uniform(0.2, 0.4)), "pad": 0,
    } | others  # fmt: skip


@train_step.cases("the idea", points=2)
def _(draw):
    yield "a later step", to_train(draw)
    yield "no smoothing", to_train(draw, smoothing=0.0)


@train_step.cases("the first step", points=1)
def _(draw):
    # The key bias has no gradient except rounding noise, which Adam now divides by its own size.
    yield "moments of zero", of_the_first_step(to_train(draw, learning_rate=float(draw.rng.uniform(1e-5, 3e-5))))


@train_step.cases("another padding token", points=1)
def _(draw):
    inputs = to_train(draw)
    for tokens in (inputs["src"], inputs["tgt"]):
        tokens[tokens == 0] = 4
        tokens[-1, -1] = 3
    inputs["tgt"][-1, -2] = 2
    yield "pad is 3", inputs | {"pad": 3, "src": inputs["src"]}


def from_one(loss, cache):
    return reference.smoothed_cross_entropy_backward(1.0, cache)


def step_of(
    params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0, *,
    inner=slice(-1), targets=slice(1, None), model_pad=None, loss_pad=None, back=from_one,
):  # fmt: skip
    """Run the reference with some of its parts replaced.

    inner: the part of `tgt` that the decoder reads. targets: the part that it must predict. model_pad, loss_pad: the
    padding token for one of the two. back: from (loss, cache of the loss) to the gradient of the logits.
    """
    logits, cache = model.forward(params, src, tgt[:, inner], n_heads, pad if model_pad is None else model_pad)
    loss_pad = pad if loss_pad is None else loss_pad
    loss, loss_cache = reference.smoothed_cross_entropy(logits, tgt[:, targets], smoothing, loss_pad)
    gradients = model.backward(back(loss, loss_cache), cache)
    params, moments = reference.adam_step(params, gradients, moments, step, learning_rate)
    return params, moments, float(loss)


def unsmoothed_gradient(loss, cache):
    return reference.smoothed_cross_entropy_backward(1.0, (*cache[:3], 0.0))


@train_step.mistake("does not shift the target")
def not_shifted(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """The decoder must predict the token that it reads: input and target are both `tgt[:, :-1]`. The loss falls to its
    floor at once, and the model learns only to copy. The targets are `tgt[:, 1:]`."""
    return step_of(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad, targets=slice(-1))


wrong("not_cut", step_of, inner=slice(None), targets=slice(None))("""
    predicts the whole target from the whole target
    The decoder reads all of `tgt` and must predict all of `tgt`, so each position only repeats the token that it reads.
    Give the decoder `tgt[:, :-1]` and let it predict `tgt[:, 1:]`.""")
wrong("reads_the_answer", step_of, inner=slice(1, None))("""
    lets the decoder read the answer
    The decoder reads `tgt[:, 1:]`, the tokens that it must predict. It should read from the begin mark to the last
    token but one: `tgt[:, :-1]`.""")
wrong("trains_hard", step_of, smoothing=0.0)("""
    does not smooth
    You do not pass `smoothing` on to the loss, so the labels are one-hot.""")
wrong("trains_on_padding", step_of, loss_pad=-1)("""
    counts padding in the loss -> Padding does not count
    Your loss counts padding. Pass `pad` on to `smoothed_cross_entropy` as well as to `forward`.""")


@train_step.mistake("returns the loss after the step")
def loss_afterwards(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """The step is right, but you return the loss of the *new* parameters, which costs a second forward pass. Return the
    loss before the step, which you already have."""
    params, moments, _ = reference.train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
    logits, _ = model.forward(params, src, tgt[:, :-1], n_heads, pad)
    return params, moments, float(reference.smoothed_cross_entropy(logits, tgt[:, 1:], smoothing, pad)[0])


wrong("always_step_one", step_of, step=1)("""
    does not pass the step on to Adam -> Adam
    Adam gets step 1 every time. The bias correction then enlarges the averages long after they have settled. Pass
    `step` on.""")


@train_step.mistake("forgets the moments")
def forgets_moments(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """You return the old moments, so Adam never remembers anything. Return the new ones."""
    new, _, loss = reference.train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
    return new, moments, loss


@train_step.mistake("takes plain gradient steps", reread="Adam")
def plain_descent(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """You move the parameters by rate times gradient, without Adam: those with small gradients hardly move. Use your
    `adam_step`."""
    _, fresh, loss = reference.train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
    gradients = map_tree(lambda new, old: (new - 0.9 * old) / (1 - 0.9), fresh[0], moments[0])
    return map_tree(lambda p, g: p - learning_rate * g, params, gradients), fresh, loss


@train_step.mistake("leaves the parameters where they were")
def stands_still(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """You compute everything, but return the old parameters. Return those that `adam_step` gives you."""
    _, fresh, loss = reference.train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
    return params, fresh, loss


wrong("pad_kept_from_the_model", step_of, model_pad=0)("""
    does not tell the model which token is padding
    `pad` does not reach `forward`, whose masks then use their default. Pass it on to `forward`, too.""")
wrong("pad_kept_from_the_loss", step_of, loss_pad=0)("""
    does not tell the loss which token is padding -> Padding does not count
    `pad` does not reach the loss, which then uses its default: padding counts as a word, and the word with the
    default's number does not count. Pass it on to the loss, too.""")
wrong("own_smoothing", step_of, smoothing=0.1)("""
    always smooths by a tenth
    The loss is smoothed by 0.1, whatever `smoothing` says. Pass the argument on.""")


@train_step.mistake("begins with moments of zero every time", reread="Adam")
def fresh_moments(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """Adam gets moments of zero at every step, so it remembers nothing; only at the first step is this right. Pass on
    the moments that you got."""
    fresh = reference.zero_moments(params)
    return step_of(params, fresh, step, src, tgt, n_heads, learning_rate, smoothing, pad)


wrong("gradient_unsmoothed", step_of, back=unsmoothed_gradient)("""
    smooths the loss, and not its gradient
    The loss that you return is smoothed, but the gradient of your backward pass is that of one-hot labels, as chapter
    8's `cross_entropy_backward` computes it. Use `smoothed_cross_entropy_backward` with the cache of the smoothed
    loss.""")


@train_step.mistake("returns the loss without smoothing")
def loss_unsmoothed(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """The step is that of the smoothed loss, but the loss that you return is that of one-hot labels. Return the
    smoothed loss."""
    new, moments, _ = reference.train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
    logits, _ = model.forward(params, src, tgt[:, :-1], n_heads, pad)
    return new, moments, float(reference.smoothed_cross_entropy(logits, tgt[:, 1:], 0.0, pad)[0])


wrong("loss_as_its_gradient", step_of, back=reference.smoothed_cross_entropy_backward)("""
    goes back with the loss instead of 1
    You pass the loss itself to its backward pass, so every gradient is multiplied by it. The backward pass begins with
    the gradient of the loss with respect to itself, which is 1.""")
wrong("shift_reversed", step_of, inner=slice(1, None), targets=slice(-1))("""
    exchanges the decoder's input and its target
    The decoder reads `tgt[:, 1:]` and its targets are `tgt[:, :-1]`, so it learns to name the word *before* the one
    that it reads. It should read `tgt[:, :-1]`, with the targets `tgt[:, 1:]`.""")


@train_step.mistake("exchanges source and target")
def source_for_target(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """The encoder reads the target and the decoder writes the source. `forward` takes the source first: translate `src`
    into `tgt`."""
    return step_of(params, moments, step, tgt, src, n_heads, learning_rate, smoothing, pad)


@train_step.mistake("divides by the tokens that the decoder reads", reread="Padding does not count")
def divided_by_what_is_read(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """The sum runs over the targets, but you divide by the number of tokens that the decoder reads. The two numbers
    differ if a sentence is padded, because the decoder then reads its end mark, too. Count `tgt[:, 1:] != pad`."""
    share = (tgt[:, 1:] != pad).sum() / (tgt[:, :-1] != pad).sum()
    options = {"back": lambda loss, cache: reference.smoothed_cross_entropy_backward(share, cache)}
    new, moments, loss = step_of(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad, **options)
    return new, moments, float(loss * share)


@train_step.mistake("clears the gradients before Adam uses them")
def cleared(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    """Adam gets gradients of zero, so the parameters move only by the old moments, and the model learns nothing from
    this batch. Pass what `backward` returned to Adam."""
    _, _, loss = reference.train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
    nothing = map_tree(np.zeros_like, params)
    return *reference.adam_step(params, nothing, moments, step, learning_rate), loss


@train_step.equivalent
def in_pieces(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    return step_of(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)


@train_step.equivalent
def with_labels_built(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    memory, encoder_cache = model.encode(params, src, n_heads, pad)
    logits, decoder_cache = model.decode(params, tgt[:, :-1], memory, src, n_heads, pad)
    targets = tgt[:, 1:]
    counts = (targets != pad)[..., None]
    labels = smooth_labels(targets, logits.shape[-1], smoothing)
    log_p = model.log_softmax(logits)
    loss = -(labels * log_p * counts).sum() / counts.sum()
    grad_logits = (np.exp(log_p) - labels) * counts / counts.sum()
    gradients = model.backward(grad_logits, (encoder_cache, decoder_cache, tuple(params["embeddings"])))
    return *by_differences(params, gradients, moments, step, learning_rate), float(loss)


@train_step.equivalent
def on_one_long_vector(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    logits, cache = model.forward(params, src, tgt[:, :-1], n_heads, pad)
    loss, loss_cache = reference.smoothed_cross_entropy(logits, tgt[:, 1:], smoothing, pad)
    gradients = model.backward(reference.smoothed_cross_entropy_backward(1.0, loss_cache), cache)
    vectors = flatten(params), flatten(gradients), tuple(map(flatten, moments))
    vector, (mean, mean_of_squares) = reference.adam_step(*vectors, step, learning_rate)
    new, *moments = (unflatten(each, params) for each in (vector, mean, mean_of_squares))
    return new, tuple(moments), float(loss)
