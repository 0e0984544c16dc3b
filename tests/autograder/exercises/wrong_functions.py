"""The wrong functions of an exercise."""

from autograder.authoring.inherited import inherited_mistakes


def wrong_functions(exercise):
    """Return slug -> function, for an exercise's own mistakes and for those that it inherits."""
    own = {slug: wrong for slug, (_, wrong) in exercise.mistakes.items()}
    return own | {f"{other.exercise.name}.{other.slug}": other.function for other in inherited_mistakes(exercise)}
