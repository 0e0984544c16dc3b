from functools import partial

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.authoring.functions_to_test import REFERENCE, functions_to_test
from autograder.authoring.short_mistakes import short_mistakes
from autograder.authoring.usual_wrong_tests import usual_wrong_tests
from autograder.exercises.training.train_step import step_of, train_step
from solutions import model
from solutions import training as reference
from solutions.parameters import flatten, initialise, leaves, map_tree, unflatten

tests_train_step = Exercise(
    reference.tests_train_step,
    outputs={"verdict": ""},
    section="Why a falling loss tests nothing",
    tests=train_step,
)
wrong = short_mistakes(tests_train_step)

tried = partial(functions_to_test, exercise=train_step)


# ---------------------------------------------------------------------------------------- further wrong steps


def with_gradient(change):
    """Return a step with the right loss, which applies `change` to the gradient of the logits."""

    def wrong(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
        def back(loss, cache):
            return change(reference.smoothed_cross_entropy_backward(1.0, cache))

        return step_of(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad, back=back)

    return wrong


def first_sentence(grad_logits):
    return grad_logits * (np.arange(len(grad_logits)) == 0)[:, None, None]


uphill, from_first_sentence = with_gradient(np.negative), with_gradient(first_sentence)


def first_layer_left_out(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    new, fresh, loss = reference.train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
    kept = [tree | {"encoder": old["encoder"]} for tree, old in ((new, params), *zip(fresh, moments, strict=True))]
    return kept[0], (kept[1], kept[2]), loss


def twice(params, moments, step, src, tgt, n_heads, learning_rate, smoothing=0.1, pad=0):
    new, fresh, loss = reference.train_step(params, moments, step, src, tgt, n_heads, learning_rate, smoothing, pad)
    return map_tree(lambda old, moved: 2 * moved - old, params, new), fresh, loss


def old_squares(params, moments, *others, **named):
    new, (mean, _), loss = reference.train_step(params, moments, *others, **named)
    return new, (mean, moments[1]), loss


def params_in_place(params, moments, *others, **named):
    new, fresh, loss = reference.train_step(params, moments, *others, **named)
    return map_tree(written, params, new), fresh, loss


def moments_in_place(params, moments, *others, **named):
    new, fresh, loss = reference.train_step(params, moments, *others, **named)
    return new, tuple(map_tree(written, *pair) for pair in zip(moments, fresh, strict=True)), loss


def tokens_in_place(params, moments, step, src, tgt, *others, **named):
    answer = reference.train_step(params, moments, step, src, tgt, *others, **named)
    tgt[:, :-1] = tgt[:, 1:].copy()
    return answer


def written(old, new):
    old[...] = new
    return old


# A test that always gives the same answer fails every aspect, because each aspect has right and wrong functions.
@tests_train_step.cases("what is read and what is predicted", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "with_labels_built", "on_one_long_vector"],
        wrong=["not_shifted", "not_cut", "reads_the_answer", "shift_reversed", "source_for_target", "loss_afterwards"],
        at_home=["source for target", "begin mark", "backwards", "loss after"],
        right_at_home=["rounding"],
    )


@tests_train_step.cases("smoothing and padding", points=2)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "with_labels_built", "in_pieces"],
        wrong=[
            *("trains_hard", "own_smoothing", "loss_unsmoothed", "trains_on_padding", "divided_by_what_is_read"),
            *("pad_kept_from_the_model", "pad_kept_from_the_loss"),
        ],
        at_home=["not smoothed", "loss not smoothed", "a tenth", "padding", "pad 0"],
        right_at_home=["rounding"],
    )


@tests_train_step.cases("the gradient", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "with_labels_built", "on_one_long_vector"],
        wrong=[
            *("gradient_unsmoothed", "loss_as_its_gradient"),
            ("moves the parameters uphill", uphill),
            ("learns from the first sentence of the batch only", from_first_sentence),
            ("leaves the encoder and its moments as they were", first_layer_left_out),
        ],
        at_home=["gradient not smoothed", "first sentence", "one array"],
        right_at_home=["rounding"],
    )


@tests_train_step.cases("the step of Adam", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "with_labels_built", "on_one_long_vector"],
        wrong=[
            *("stands_still", "plain_descent", "forgets_moments", "fresh_moments", "always_step_one"),
            ("takes each step twice", twice),
            ("returns the old mean of the squares", old_squares),
        ],
        at_home=[
            "stands still",
            "twice",
            "uphill",
            "without Adam",
            "old moments",
            "old squares",
            "zero moments",
            "step 1",
        ],
        right_at_home=["rounding"],
    )


@tests_train_step.cases("right numbers, and yet wrong", points=1)
def _(draw):
    yield from tried(
        draw,
        right=[REFERENCE, "in_pieces", "with_labels_built"],
        wrong=[
            ("writes the new parameters into the caller's arrays", params_in_place),
            ("writes the new moments into the caller's arrays", moments_in_place),
            ("shifts the caller's target in place", tokens_in_place),
        ],
        at_home=["params in place", "moments in place", "tokens in place"],
        right_at_home=["rounding"],
    )


# ---------------------------------------------------------------------------------------- the test and wrong tests


def situation(*, step=4, zeros=False, smoothing=0.3, pad=3, padded=True, sentences=2):
    """Return the arguments of a step by name, for a tiny model."""
    rng = np.random.default_rng(0)
    params = initialise(rng, {"shared": 9}, 4, 6, 1, 1)
    mean = map_tree(lambda array: 0.1 * rng.normal(size=array.shape), params)
    squares = map_tree(lambda array: 0.5 + rng.normal(size=array.shape) ** 2, params)
    src = np.array([[5, 6, 7, 4], [4, 8, pad, pad] if padded else [4, 8, 6, 6]])
    tgt = np.array([[1, 7, 5, 4, 2], [1, 6, 2, pad, pad] if padded else [1, 6, 4, 7, 2]])
    return {
        "params": params, "moments": reference.zero_moments(params) if zeros else (mean, squares), "step": step,
        "src": src[:sentences], "tgt": tgt[:sentences], "n_heads": 2, "learning_rate": 0.1,
        "smoothing": smoothing, "pad": pad,
    }  # fmt: skip


def loss_and_gradient(case, params):
    """Return the smoothed loss of a case for these parameters, and a function that returns its gradient."""
    logits, cache = model.forward(params, case["src"], case["tgt"][:, :-1], case["n_heads"], case["pad"])
    loss, loss_cache = reference.smoothed_cross_entropy(logits, case["tgt"][:, 1:], case["smoothing"], case["pad"])
    return loss, lambda: model.backward(reference.smoothed_cross_entropy_backward(1.0, loss_cache), cache)


def flat(*trees):
    return np.concatenate([flatten(tree) for tree in trees])


def arrays_of(case, names):
    return flat(*(list(case[name]) if name == "moments" else case[name] for name in names))


def copied(case):
    trees = {name: map_tree(np.copy, case[name]) for name in ("params", "src", "tgt")}
    return case | trees | {"moments": tuple(map_tree(np.copy, moment) for moment in case["moments"])}


close = partial(np.allclose, rtol=0, atol=1e-7)
ARGUMENTS = ("params", "moments", "src", "tgt")


def tested(
    function, *,
    case=None, watched=ARGUMENTS, loss=True, mean=True, squares=True, params=True, own_gradient=False, agree=close,
):  # fmt: skip
    """Run the test with these choices.

    case: the arguments. watched: the arguments that must not change. loss, mean, squares, params: whether the test
    looks at them. own_gradient: whether the test takes the gradient from the new mean. agree: a function that compares
    two values.
    """
    case = situation() if case is None else case
    before = copied(case)
    new, moments, loss_before = function(**case)
    right_loss, back = loss_and_gradient(before, before["params"])
    if any(not np.array_equal(arrays_of(case, [name]), arrays_of(before, [name])) for name in watched):
        return False
    if loss and not agree(loss_before, right_loss):
        return False
    gradient = back()
    if own_gradient:
        gradient = map_tree(lambda after, m: (after - 0.9 * m) / 0.1, moments[0], before["moments"][0])
    expected, fresh = reference.adam_step(
        before["params"], gradient, before["moments"], case["step"], case["learning_rate"]
    )
    pairs = [(mean, moments[0], fresh[0]), (squares, moments[1], fresh[1]), (params, new, expected)]
    return all(agree(flatten(own), flatten(right)) for looked_at, own, right in pairs if looked_at)


usual_wrong_tests(
    tests_train_step,
    accepts="Call the function on a tiny model, and compare what it returns with what you compute yourself.",
)


@tests_train_step.mistake("rejects every function")
def bit_by_bit(function):
    """Your test rejects right functions and wrong ones alike. Two right ways to compute a step differ by rounding:
    compare with a tolerance, such as 1e-7. If you already do, check the values that you compare with."""
    return tested(function, agree=np.array_equal)


@tests_train_step.mistake("looks whether the loss falls")
def loss_falls(function):
    """Your test accepts functions that let the loss fall. Nearly every wrong step does that, even if it predicts what
    it reads, does not smooth, or forgets its moments. Compare the loss and the step with values that you compute
    yourself."""
    case = situation(zeros=True) | {"learning_rate": 0.02}
    losses = []
    for step in range(1, 9):
        case["params"], case["moments"], loss = function(**case | {"step": step})
        losses.append(loss)
    return losses[-1] < losses[0]


wrong("loss_alone", tested, mean=False, squares=False, params=False, watched=())("""
    looks at the loss alone
    Your test finds wrong losses. It accepts a function that returns the right loss and makes a wrong step. Look at the
    new parameters and at the new moments, too.""")
wrong("loss_unwatched", tested, loss=False)("""
    does not look at the loss
    Your test accepts a function that makes the right step and returns a wrong loss: the loss after the step, or the
    loss without smoothing. Compare the loss as well.""")
wrong("gradient_unmeasured", tested, own_gradient=True)("""
    believes the function's own gradient
    Your test accepts a function with a wrong gradient. You take the gradient from the new mean, which the function
    itself has made, and look only at what Adam does with it. Compare this gradient with a slope that you measure, or
    with that of `backward`.""")
wrong("first_step_only", lambda function: tested(function, case=situation(step=1, zeros=True)))("""
    tests the first step only
    Your test accepts functions that are right in the first step, where the moments are zero and `step` is 1. A function
    that forgets its moments, or treats every step as the first, looks right there. Try a later step, with moments that
    are not zero.""")
wrong("usual_padding", lambda function: tested(function, case=situation(pad=0)))("""
    uses the usual padding token only
    Your test accepts a function that does not pass `pad` on. With `pad=0` its defaults are right by accident. Pad with
    another token, and use token 0 for a word or not at all.""")
wrong("no_padding", lambda function: tested(function, case=situation(padded=False)))("""
    uses sentences without padding
    Your test accepts functions that count padding. No sentence of your batch has any. Let the sentences differ in
    length, in the source and in the target.""")
wrong("usual_smoothing", lambda function: tested(function, case=situation(smoothing=0.1)))("""
    uses the usual smoothing only
    Your test accepts a function that always smooths by a tenth. With `smoothing=0.1` it is right by accident. Choose
    another number.""")
wrong("no_smoothing", lambda function: tested(function, case=situation(smoothing=0.0)))("""
    does not smooth
    Your test accepts functions that forget the smoothing, in the loss or in its gradient. With `smoothing=0` they are
    right. Choose a number between 0 and 1 that is not the default.""")
wrong("single_sentence", lambda function: tested(function, case=situation(sentences=1)))("""
    uses a single sentence
    Your test accepts a function that learns only from the first sentence of a batch. Use a batch of two sentences or
    more, at least one of which has padding.""")
wrong("parameters_unwatched", tested, params=False)("""
    does not look at the new parameters
    Your test accepts a function that computes all gradients, but returns the old parameters, or parameters after a
    wrong step. Compare the new parameters with those that Adam gives.""")
wrong("moments_unwatched", tested, mean=False, squares=False)("""
    does not look at the new moments
    Your test accepts a function that returns the old moments. The step is right, but the next one will not be. Compare
    both moments.""")
wrong("arguments_unwatched", tested, watched=())("""
    does not look whether the arguments change
    Your test accepts functions that write into the caller's arrays. Make copies before the call, with
    `map_tree(np.copy, ...)`, and compare afterwards. A second name for the same array is not a copy.""")
wrong("only_parameters_watched", tested, watched=("params",))("""
    looks only whether the parameters change
    Your test finds a function that writes into the caller's parameters, but accepts one that writes into the moments or
    into the target. Copy all arrays that you pass.""")
wrong("tokens_unwatched", tested, watched=("params", "moments"))("""
    looks whether parameters and moments change, and not at the tokens
    Your test accepts a function that shifts the caller's target in place. Copy the source and the target, too, and
    compare them after the call.""")


# ---------------------------------------------------------------------------------------- right tests


@tests_train_step.equivalent
def by_the_parts(function):
    return tested(function)


@tests_train_step.equivalent
def by_assertions(function):
    """Try two situations with positional arguments; the second has another padding token and a later step."""
    for options in ({}, {"pad": 8, "smoothing": 0.2, "step": 7}):
        case = situation(**options)
        copies = [np.copy(array) for array in leaves([case["params"], *case["moments"], case["src"], case["tgt"]])]
        new, (mean, squares), loss = function(*case.values())
        right_loss, back = loss_and_gradient(case, case["params"])
        assert abs(loss - right_loss) < 1e-9
        parts = case["params"], back(), case["moments"], case["step"], case["learning_rate"]
        params, moments = reference.adam_step(*parts)
        np.testing.assert_allclose(flat(new, mean, squares), flat(params, *moments), atol=1e-8)
        for array, copied in zip(
            leaves([case["params"], *case["moments"], case["src"], case["tgt"]]), copies, strict=True
        ):
            assert (array == copied).all()


@tests_train_step.equivalent
def by_slopes(function):
    """Compare with a measured slope for each array, along a random direction."""
    rng = np.random.default_rng(3)
    case = situation(smoothing=0.25)
    before = arrays_of(case, ARGUMENTS)
    new, (mean, squares), loss = function(**case)
    if not np.array_equal(before, arrays_of(case, ARGUMENTS)):
        return np.bool_(False)
    start, old = flatten(case["params"]), tuple(map(flatten, case["moments"]))
    gradient = 10 * (flatten(mean) - 0.9 * old[0])
    for name in case["params"]:
        chosen = map_tree(lambda array: np.zeros(array.shape), case["params"])
        chosen[name] = map_tree(lambda array: rng.normal(size=array.shape), chosen[name])
        direction = 1e-5 * flatten(chosen)
        losses = [
            loss_and_gradient(case, unflatten(at, case["params"]))[0] for at in (start + direction, start - direction)
        ]
        assert abs(gradient @ direction - (losses[0] - losses[1]) / 2) < 1e-10
    corrected = gradient * 0.1 + 0.9 * old[0], 0.98 * old[1] + 0.02 * gradient**2
    step = corrected[0] / (1 - 0.9**4) / (np.sqrt(corrected[1] / (1 - 0.98**4)) + 1e-9)
    right_loss, _ = loss_and_gradient(case, case["params"])
    return close(loss, right_loss) and close(flatten(squares), corrected[1]) and close(flatten(new), start - 0.1 * step)


@tests_train_step.equivalent
def in_two_steps(function):
    """Make two steps, one after the other, as in training, so that all moments come from these steps."""
    case = situation(step=1, zeros=True)
    for step in (1, 2):
        copies = map_tree(np.copy, [case["params"], *case["moments"], case["src"], case["tgt"]])
        new, moments, loss = function(**case | {"step": step})
        right_loss, back = loss_and_gradient(case, case["params"])
        expected = reference.adam_step(case["params"], back(), case["moments"], step, case["learning_rate"])
        if not np.array_equal(flatten(copies), arrays_of(case, ARGUMENTS)) or not close(loss, right_loss):
            return False
        if not close(flat(new, *moments), flat(expected[0], *expected[1])):
            return False
        case |= {"params": new, "moments": moments}
    return True
