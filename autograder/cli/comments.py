"""`autograder comments`"""

from argparse import ArgumentParser, Namespace

HELP = "List the course's reusable comments, and where formgrader has a #key that is not one of them."


def add_arguments(parser: ArgumentParser) -> None:
    """Add no arguments, because all chapters share the same comments."""


def run(options: Namespace) -> int:
    """Return 1 if a comment uses a key that does not exist. Write an example file if the course has no comments."""
    from autograder.course.comments import EXAMPLE, FILE, load_comments
    from autograder.course.configuration import set_up_course
    from autograder.course.files import write_atomically
    from autograder.gradebook.coursedir import open_coursedir
    from autograder.gradebook.engine import usable_gradebook
    from autograder.gradebook.queries import unknown_keys
    from check.words import shown

    path = options.course / FILE
    if not path.exists():
        set_up_course(options.course)
        write_atomically(path, EXAMPLE.read_text(encoding="utf-8"))
        print(f"{path} is new. It has comments on the report of chapter 10: change them, and add your own.")
    comments = load_comments(options.course)
    for key, text in comments.items():
        print(f"#{key}: {shown(text.strip())}")
    with usable_gradebook(open_coursedir(options.course, "")) as gradebook:
        unknown = unknown_keys(gradebook, comments)
    for line in unknown:
        print(line)
    return 1 if unknown else 0
