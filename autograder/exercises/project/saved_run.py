"""saved_run: its cases, its known mistakes and its right rewrites. Values must be equal bit for bit."""

import numpy as np

from autograder.authoring.exercise import Exercise
from autograder.exercises.project.shared import small_run
from solutions import project as reference
from solutions.parameters import flatten, map_tree, named

saved_run = Exercise(
    reference.saved_run, outputs={"arrays": ""}, section="Stop today and continue tomorrow", tolerance=0.0
)


@saved_run.cases("everything, bit for bit", points=2)
def _(draw):
    yield "a run in float64", {"run": small_run(draw, step=draw.size(3, 90))}
    yield "a run in float32", {"run": small_run(draw, step=draw.size(200, 900), dtype=np.float32)}
    yield "a run that has not begun", {"run": small_run(draw, step=0)}


@saved_run.mistake("saves the parameters alone")
def parameters_alone(run):
    """You save the parameters and the step. Adam's two running means are missing, so a run that continues starts them
    from zero, and its first step follows one batch alone."""
    return {"step": np.array(run["step"]), **named({"params": run["params"]})}


@saved_run.mistake("does not save the step")
def no_step(run):
    """The step is missing. Without it a run that continues starts the schedule again, and corrects Adam's means as if
    they were new."""
    arrays = reference.saved_run(run)
    del arrays["step"]
    return arrays


@saved_run.mistake("saves the first moments twice")
def mean_twice(run):
    """You save the mean as mean_of_squares, too. `run["moments"]` is a pair: the mean of the gradients, and the mean of
    their squares."""
    mean, _ = run["moments"]
    return reference.saved_run(run | {"moments": (mean, mean)})


@saved_run.mistake("exchanges the moments")
def exchanged(run):
    """You save the mean as mean_of_squares, and the mean of squares as mean. The pair `run["moments"]` begins with the
    mean."""
    return reference.saved_run(run | {"moments": run["moments"][::-1]})


@saved_run.mistake("rounds to half precision")
def rounded(run):
    """Your arrays are float16, or were converted to it in between: three decimal digits are left. That is enough to
    hand in weights, but a run that continues from them is another run. Keep the dtype."""
    arrays = reference.saved_run(run)
    return {name: array.astype(np.float16) if name != "step" else array for name, array in arrays.items()}


@saved_run.mistake("rounds to single precision")
def to_single(run):
    """You convert everything to float32. A run in float64 that continues from it is no longer the same run. Keep the
    dtype of each array."""
    arrays = reference.saved_run(run)
    return {name: array.astype(np.float32) if name != "step" else array for name, array in arrays.items()}


@saved_run.mistake("converts everything to double precision")
def to_double(run):
    """You convert everything to float64. No digit is lost, but a run in float32 continues in float64 and rounds
    differently. Keep the dtype of each array."""
    arrays = reference.saved_run(run)
    return {name: array.astype(np.float64) if name != "step" else array for name, array in arrays.items()}


@saved_run.mistake("corrects the bias of the moments")
def corrected(run):
    """You save the moments after the correction of their bias. Every step of Adam corrects them itself, so they would
    be corrected twice. Save them as they are."""
    step = max(1, run["step"])
    mean, squares = run["moments"]
    corrected_ones = map_tree(lambda m: m / (1 - 0.9**step), mean), map_tree(lambda v: v / (1 - 0.98**step), squares)
    return reference.saved_run(run | {"moments": corrected_ones})


@saved_run.mistake("saves the roots of the squares")
def roots(run):
    """You save the roots of the second moments. Adam averages the squares, so a root cannot continue the average."""
    mean, squares = run["moments"]
    return reference.saved_run(run | {"moments": (mean, map_tree(np.sqrt, squares))})


@saved_run.mistake("saves the next step")
def next_step(run):
    """Your step is one too large. `run["step"]` counts the finished steps; `continue_run` adds one before the next."""
    return reference.saved_run(run | {"step": run["step"] + 1})


@saved_run.mistake("returns the trees")
def trees(run):
    """You return nested dicts. A file without pickle holds arrays under plain names: write the path into the name, as
    `named` does."""
    mean, squares = run["moments"]
    return {"step": np.array(run["step"]), "params": run["params"], "mean": mean, "mean_of_squares": squares}


@saved_run.mistake("saves each tree as one vector")
def vectors(run):
    """You save one vector for each tree. To rebuild the trees, you would have to know the shapes. Keep each array under
    its own name, as `named` gives it."""
    mean, squares = run["moments"]
    arrays = {"params": flatten(run["params"]), "mean": flatten(mean), "mean_of_squares": flatten(squares)}
    return {"step": np.array(run["step"]), **arrays}


@saved_run.equivalent
def one_by_one(run):
    arrays = {f"params.{path}": array for path, array in named(run["params"]).items()}
    for name, tree in zip(("mean", "mean_of_squares"), run["moments"], strict=True):
        arrays |= {f"{name}.{path}": array.copy() for path, array in named(tree).items()}
    return arrays | {"step": np.int64(run["step"])}


@saved_run.equivalent
def by_recursion(run):
    def flat(tree, path):
        if isinstance(tree, np.ndarray):
            return {path: tree}
        branches = tree.items() if isinstance(tree, dict) else enumerate(tree)
        return {name: array for key, branch in branches for name, array in flat(branch, f"{path}.{key}").items()}

    mean, squares = run["moments"]
    return {
        **flat(run["params"], "params"),
        **flat(mean, "mean"),
        **flat(squares, "mean_of_squares"),
        "step": np.asarray(run["step"]),
    }


@saved_run.equivalent
def as_one_tree(run):
    tree = {"params": run["params"], "mean": run["moments"][0], "mean_of_squares": run["moments"][1]}
    return named(tree | {"step": np.array(run["step"])})
