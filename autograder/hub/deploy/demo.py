"""Show a week on a hub in a minute: two students fetch, solve and submit a chapter, and read their feedback.

`make hub-demo` runs this as root. The accounts and servers are real. At the end the demonstration removes them and its
folder.
"""

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

import nbformat
from machine import accounts, free_ports, hub, run_as, try_as
from session import Session

HERE = Path(__file__).resolve().parent
REPO = HERE.parents[2]
CHAPTER = "01_attention"
COURSE_ID = "default_course"
OTHER_ID = "other_course"  # a second course on the same hub, with an instructor of its own and nothing released
CONFIGURATION = (
    *("jupyterhub_config.py", "machine_groups.py", "nbgrader_config.py"),
    *("students", "instructors", "formgrader"),
)
MEMBERS, INSTRUCTORS = "transformer-members", "transformer-graders"
OTHERS = "other-graders"
PEOPLE = {
    "ada": [MEMBERS],
    "ben": [MEMBERS],
    "ines": [MEMBERS, INSTRUCTORS],
    "ivo": [MEMBERS, OTHERS],
    "course": [],
}
WRONG = """def attention_weights(queries, keys):
    return softmax(queries @ np.swapaxes(keys, -1, -2))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hub", type=Path, default=REPO / ".hub", metavar="DIR", help="the folder of `make hub`")
    parser.add_argument("--stay", action="store_true", help="leave the hub running until Enter is pressed")
    options = parser.parse_args()
    # Raise SystemExit, so that the demonstration also removes the accounts in this case.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("The demonstration was stopped by SIGTERM."))
    if os.geteuid():
        sys.exit("The demonstration creates accounts and starts servers as their owners. Run it as root.")
    if not (options.hub / ".done").exists():
        sys.exit(f"There is no hub in {options.hub}. Run `make hub` first.")
    if not (REPO / ".venv/.formgrader").exists():
        sys.exit("The packages for the course's own server are missing. Run `make formgrader` first.")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hub-")))
        folder.chmod(0o755)
        suffix, passwords = stack.enter_context(accounts(PEOPLE, folder))
        week(options.hub.absolute(), folder, suffix, passwords, stay=options.stay, stack=stack)


def week(environment: Path, folder: Path, suffix: str, passwords: dict[str, str], *, stay: bool, stack: ExitStack):
    """Go from the release to the feedback, and print one line for each step."""
    ada, ben, ines, ivo, owner = passwords
    if try_as(ada, environment / "bin" / "python", "-c", "").returncode:
        sys.exit(f"Students cannot run {environment}/bin/python. Put the hub into a folder that everyone can read.")
    for name in CONFIGURATION:
        copy = shutil.copytree if (HERE / name).is_dir() else shutil.copy
        copy(HERE / name, folder / name)
    course = Course(owner, folder)

    print(course.autograder("release", CHAPTER))
    course.join(folder)
    course.nbgrader("release_assignment", CHAPTER)
    print(f"released to the exchange: {CHAPTER}")
    other = course.other(folder)

    (folder / "hub.toml").write_text(settings(suffix, course, other))
    address = stack.enter_context(hub(environment, folder, COURSE_ID))
    print(f"a hub listens at {address}")
    students = {}
    for name in (ada, ben):
        students[name] = student = logged_in(address, name, passwords[name])
        print(f"{name} has logged in and has a server")
        rows = student.press("fetch", COURSE_ID, CHAPTER)
        (notebook,) = next(row for row in rows if row["status"] == "fetched")["notebooks"]
        student.read(notebook["path"])
        student.save(notebook["path"], course.solved({} if name == ada else {"attention_weights": WRONG}))
        rows = student.press("submit", COURSE_ID, CHAPTER)
        (submission,) = next(row for row in rows if row["status"] == "submitted")["submissions"]
        print(f"{name} has fetched {notebook['path']}, solved it, and submitted it at {submission['timestamp']}")
    inbound = folder / "exchange" / COURSE_ID / "inbound"
    for private in (course.folder, folder / ada, folder / "state", inbound):
        readable = try_as(ben, "ls", private).returncode == 0
        print(f"{ben} can list {private.relative_to(folder)}: {'YES' if readable else 'no'}")

    course.nbgrader("collect", CHAPTER)
    print(course.autograder("grade", CHAPTER))
    course.nbgrader("release_feedback", CHAPTER)
    print("released to the exchange: the feedback")
    for name, student in students.items():
        rows = student.press("fetch_feedback", COURSE_ID, CHAPTER)
        (fetched,) = next(row for row in rows if row["status"] == "submitted")["submissions"]
        page = student.read(f"{fetched['local_feedback_path']}/{CHAPTER}.html")
        named = "The division by the square root of d_key is missing" in page
        print(f"{name} has fetched feedback of {len(page)} characters. It names a mistake: {'yes' if named else 'no'}")
    instructors = {name: logged_in(address, name, passwords[name]) for name in (ines, ivo)}
    for name, instructor in instructors.items():
        print(f"{name} sees in the course list: {', '.join(instructor.courses())}")
    for session in (*instructors.values(), students[ada]):
        print(f"{session.name} {seen_in_formgrader(session)}")
    instructors[ines].set_score(COURSE_ID, CHAPTER, ben, 3)
    print(course.autograder("history", CHAPTER))
    if stay:
        for name in (ada, ben, ines):
            print(f"log in as {name}, password {passwords[name]}")
        print(f"{address} keeps running until you press Enter.", flush=True)
        sys.stdin.readline()


def settings(suffix: str, course: "Course", other: Path) -> str:
    """Return the text of hub.toml for these accounts. other: the folder of a second course."""
    tables = [f'members = "{MEMBERS}{suffix}"']
    people = {COURSE_ID: (MEMBERS, INSTRUCTORS, course.folder), OTHER_ID: (OTHERS, OTHERS, other)}
    for (name, (students, instructors, place)), port in zip(people.items(), free_ports(2), strict=True):
        tables.append(f"""
    [courses.{name}]
    students = "{students}{suffix}"
    instructors = "{instructors}{suffix}"
    account = "{course.account or ""}"
    folder = "{place}"
    environment = "{course.python.parent.parent}"
    port = {port}
    """)
    return "\n".join(tables)


def logged_in(address: str, name: str, password: str) -> Session:
    """Return the session of a person who has logged in and whose server is running."""
    session = Session(address, name, password)
    session.log_in()
    session.start_server()
    return session


def seen_in_formgrader(session: Session) -> str:
    """Return what this person sees in formgrader, as the end of a sentence."""
    try:
        rows = json.loads(session.formgrader(COURSE_ID, "api/assignments"))
    except PermissionError:
        return "may not open formgrader"
    counts = {row["name"]: row["num_submissions"] for row in rows}
    return f"sees {counts[CHAPTER]} submissions in formgrader"


class Course:
    """The course folder, and the account that owns it and runs the repository's commands.

    If that account cannot run the repository's Python, root takes its place.
    """

    def __init__(self, account: str, folder: Path):
        self.python = REPO / ".venv" / "bin" / "python"
        usable = try_as(account, self.python, "-c", "import autograder").returncode == 0
        self.account = account if usable else None
        self.folder = folder / account / "course"
        if self.account is None:
            print(f"{account} cannot run {self.python.resolve()}, so root runs the commands and formgrader instead")
        run_as(self.account, "mkdir", "-m", "700", self.folder)
        # The account that releases must own the exchange. The sticky bit keeps others from replacing the course in it.
        run_as(None, "install", "--directory", "--mode=1777", f"--owner={self.account or 'root'}", folder / "exchange")

    def other(self, folder: Path) -> Path:
        """Make the folder of a second course, which has no assignment yet, and return it."""
        other = self.folder.parent / "other"
        run_as(self.account, "mkdir", "-m", "700", other)
        lines = (
            "c = get_config()",
            *(f"load_subconfig('nbgrader_config.py', path={str(place)!r})" for place in (REPO, folder)),
            f"c.CourseDirectory.root = {str(other)!r}",
            f"c.CourseDirectory.course_id = {OTHER_ID!r}",
        )
        run_as(self.account, "sh", "-c", 'printf "%s\n" "$@" > nbgrader_config.py', "-", *lines, cwd=other)
        return other

    def autograder(self, command: str, chapter: str) -> str:
        """Run an `autograder` command and return what it printed."""
        program = self.python.with_name("autograder")
        return run_as(self.account, self.python, program, command, chapter, "--course", self.folder).stdout.strip()

    def join(self, folder: Path) -> None:
        """Configure the exchange for nbgrader's commands in the course folder, as README.md says."""
        with (self.folder / "nbgrader_config.py").open("a") as config:
            config.write(f"load_subconfig('nbgrader_config.py', path={str(folder)!r})\n")

    def nbgrader(self, command: str, chapter: str) -> None:
        run_as(self.account, self.python, "-m", "nbgrader", command, chapter, cwd=self.folder)

    def solved(self, wrong: dict[str, str]) -> str:
        """Return the chapter's solved notebook, with the cells in `wrong` instead of the right ones."""
        notebook = nbformat.read(self.folder / "source" / CHAPTER / f"{CHAPTER}.ipynb", 4)
        for cell in notebook.cells:
            cell.source = wrong.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
        return nbformat.writes(notebook)


if __name__ == "__main__":
    main()
