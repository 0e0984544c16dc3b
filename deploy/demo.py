"""A week on a hub, in a minute: two students fetch, work and hand in; it is graded; they read their feedback.

`make hub-demo` runs this, as root. Accounts and servers are real and gone at the end; so is the folder.
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

HOUSE = Path(__file__).resolve().parent.parent
CHAPTER = "01_attention"
COURSE_ID = "default_course"
CONFIGURATION = ("jupyterhub_config.py", "nbgrader_config.py", "students", "instructors", "formgrader")
MEMBERS, INSTRUCTORS = "transformer-members", "transformer-graders"
PEOPLE = {"ada": [MEMBERS], "ben": [MEMBERS], "ines": [MEMBERS, INSTRUCTORS], "course": []}
WRONG = """def attention_weights(queries, keys):
    return softmax(queries @ np.swapaxes(keys, -1, -2))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hub", type=Path, default=HOUSE / ".hub", metavar="DIR", help="what `make hub` set up")
    parser.add_argument("--stay", action="store_true", help="leave the hub running until Enter is pressed")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended from outside"))  # so that all is given back then too
    if os.geteuid():
        sys.exit("The demonstration makes accounts and starts servers as their owners: run it as root.")
    if not (options.hub / ".done").exists():
        sys.exit(f"There is no hub in {options.hub}: run `make hub` first.")
    if not (HOUSE / ".venv/.formgrader").exists():
        sys.exit("The course has no server of its own: run `make formgrader` first.")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="hub-")))
        folder.chmod(0o755)
        suffix, passwords = stack.enter_context(accounts(PEOPLE, folder))
        week(options.hub.absolute(), folder, suffix, passwords, stay=options.stay, stack=stack)


def week(environment: Path, folder: Path, suffix: str, passwords: dict[str, str], *, stay: bool, stack: ExitStack):
    """From the release to the feedback, one line a step."""
    ada, ben, ines, owner = passwords
    if try_as(ada, environment / "bin" / "python", "-c", "").returncode:
        sys.exit(f"Students cannot run {environment}/bin/python: put the hub where everybody may read.")
    for name in CONFIGURATION:
        place = shutil.copytree if (HOUSE / "deploy" / name).is_dir() else shutil.copy
        place(HOUSE / "deploy" / name, folder / name)
    course = Course(owner, folder)

    print(course.autograder("release", CHAPTER))
    course.join(folder)
    course.nbgrader("release_assignment", CHAPTER)
    print(f"released to the exchange: {CHAPTER}")

    (folder / "hub.toml").write_text(settings(suffix, course))
    address = stack.enter_context(hub(environment, folder, COURSE_ID))
    print(f"a hub listens at {address}")
    students = {}
    for name in (ada, ben):
        students[name] = student = at_work(address, name, passwords[name])
        print(f"{name} has logged in, and has a server")
        student.press("fetch", COURSE_ID, CHAPTER)
        student.read(f"{CHAPTER}/{CHAPTER}.ipynb")
        student.save(f"{CHAPTER}/{CHAPTER}.ipynb", course.solved({} if name == ada else {"attention_weights": WRONG}))
        rows = student.press("submit", COURSE_ID, CHAPTER)
        submitted = next(row for row in rows if row["status"] == "submitted")
        print(f"{name} has fetched {CHAPTER}, worked, and handed in at {submitted['submissions'][0]['timestamp']}")
    inbound = folder / "exchange" / COURSE_ID / "inbound"
    for private in (course.folder, folder / ada, folder / "state", inbound):
        read = try_as(ben, "ls", private).returncode == 0
        print(f"{ben} can look into {private.relative_to(folder)}: {'YES' if read else 'no'}")

    course.nbgrader("collect", CHAPTER)
    print(course.autograder("grade", CHAPTER))
    course.nbgrader("release_feedback", CHAPTER)
    print("released to the exchange: the feedback")
    for name, student in students.items():
        rows = student.press("fetch_feedback", COURSE_ID, CHAPTER)
        (fetched,) = next(row for row in rows if row["status"] == "submitted")["submissions"]
        page = student.read(f"{fetched['local_feedback_path']}/{CHAPTER}.html")
        said = "The division by the square root of d_key is missing" in page
        print(f"{name} has fetched feedback of {len(page)} letters, and reads of a mistake: {'yes' if said else 'no'}")
    instructor = at_work(address, ines, passwords[ines])
    print(f"{ines} has in the course list: {', '.join(instructor.courses())}")
    for session in (instructor, students[ada]):
        print(f"{session.name} {in_formgrader(session)}")
    if stay:
        for name in (ada, ben, ines):
            print(f"log in as {name}, password {passwords[name]}")
        print(f"{address} stays up until you press Enter.", flush=True)
        sys.stdin.readline()


def settings(suffix: str, course: "Course") -> str:
    """hub.toml for these accounts."""
    return f"""
    members = "{MEMBERS}{suffix}"
    instructors = "{INSTRUCTORS}{suffix}"
    [formgrader]
    account = "{course.account or ""}"
    course = "{course.folder}"
    environment = "{course.python.parent.parent}"
    port = {free_ports(1)[0]}
    """


def at_work(address: str, name: str, password: str) -> Session:
    """Somebody who has logged in, with a server that runs."""
    session = Session(address, name, password)
    session.log_in()
    session.start_server()
    return session


def in_formgrader(session: Session) -> str:
    """What formgrader shows somebody."""
    try:
        rows = json.loads(session.formgrader(COURSE_ID, "api/assignments"))
    except PermissionError:
        return "is not let into formgrader"
    handed_in = {row["name"]: row["num_submissions"] for row in rows}[CHAPTER]
    return f"sees {handed_in} submissions in formgrader"


class Course:
    """The account that owns the course folder and runs the repository's commands: one like the others, where it can."""

    def __init__(self, account: str, folder: Path):
        self.python = HOUSE / ".venv" / "bin" / "python"
        usable = try_as(account, self.python, "-c", "import autograder").returncode == 0
        self.account = account if usable else None
        self.folder = folder / account / "course"
        if self.account is None:
            print(f"root stands in for {account}, who cannot run {self.python.resolve()}: formgrader is root's, too")
        run_as(self.account, "mkdir", "-m", "700", self.folder)
        # Whoever releases must own it; the sticky bit keeps others from putting another in the course's place.
        run_as(None, "install", "--directory", "--mode=1777", f"--owner={self.account or 'root'}", folder / "exchange")

    def autograder(self, command: str, chapter: str) -> str:
        """What `autograder` printed."""
        program = self.python.with_name("autograder")
        return run_as(self.account, self.python, program, command, chapter, "--course", self.folder).stdout.strip()

    def join(self, folder: Path) -> None:
        """Let nbgrader's commands in the course folder know the exchange, as deploy/README.md says."""
        with (self.folder / "nbgrader_config.py").open("a") as rules:
            rules.write(f"load_subconfig('nbgrader_config.py', path={str(folder)!r})\n")

    def nbgrader(self, command: str, chapter: str) -> None:
        run_as(self.account, self.python, "-m", "nbgrader", command, chapter, cwd=self.folder)

    def solved(self, wrong: dict[str, str]) -> str:
        """The chapter's notebook with the solutions in it, and these cells instead of theirs."""
        notebook = nbformat.read(self.folder / "source" / CHAPTER / f"{CHAPTER}.ipynb", 4)
        for cell in notebook.cells:
            cell.source = wrong.get(cell.metadata.get("nbgrader", {}).get("grade_id"), cell.source)
        return nbformat.writes(notebook)


if __name__ == "__main__":
    main()
