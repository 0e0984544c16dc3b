"""How nbgrader's own commands and formgrader work in this repository; `autograder` reads it too.

A course folder elsewhere: nbgrader ... --CourseDirectory.root=DIR
"""

import os
import sys
from importlib.util import find_spec
from pathlib import Path

# nbgrader calls `alembic` by its bare name when it makes a gradebook; let it be found without activating .venv.
scripts = str(Path(sys.executable).parent)
if scripts not in os.environ["PATH"].split(os.pathsep):
    os.environ["PATH"] = scripts + os.pathsep + os.environ["PATH"]

c = get_config()  # noqa: F821 (traitlets defines it)

c.CourseDirectory.root = str(Path(__file__).resolve().parent / "course")
# An assignment belongs to a course, by a foreign key: SQLite lets it dangle, PostgreSQL does not. The name is the one
# that nbgrader's preprocessors use.
c.CourseDirectory.course_id = "default_course"
# For a gradebook in PostgreSQL, in the course's own nbgrader_config.py:
# c.CourseDirectory.db_url = "postgresql://USER@HOST/NAME"

# ------------------------------------------------------------------ nbgrader generate_assignment
# nbgrader's own list, without the two that have nothing to do here (headers, generated tests),
# and with the chapter's stubs put back where solutions were.
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.LockCells",
    "nbgrader.preprocessors.ClearSolutions",
    "autograder.gradebook.assignments.RestoreStub",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]

# ------------------------------------------------------------------------------ nbgrader autograde
# Submissions are read, run in the sandbox and judged by the exporter; what it hands on is a notebook made
# from the released one, with verdicts and scores in it. There is nothing left to sanitise or to execute.
c.Autograde.exporter_class = "autograder.gradebook.plugin.SubmissionExporter"
c.Autograde.sanitize_preprocessors = []
c.Autograde.autograde_preprocessors = ["autograder.gradebook.plugin.SaveScores"]

# If a student hands in several times, the last graded attempt counts, or the best one:
# c.Attempts.counts = "best"

# All exercises of a chapter count, or those that `autograder assign` chooses:
# c.Assigned.exercises = {"01_attention": ["softmax", "attention"]}

# --------------------------------------------------------- nbgrader generate_feedback and formgrader
c.GenerateFeedback.exporter_class = "autograder.pages.feedback.FeedbackExporter"
c.GenerateFeedback.preprocessors = ["autograder.gradebook.plugin.ReadGradebook"]
# c.FeedbackExporter.book = "https://..."  makes links of the sections to read again

# In formgrader too, a student's Markdown becomes HTML that runs nothing, and no cell keeps the page waiting.
c.HTMLExporter.filters = {
    "markdown2html": "autograder.pages.safe_markdown.safe_markdown",
    "highlight_code": "autograder.pages.code.numbered_block",
}
# Nor does formgrader ask another machine for anything: formulas are MathML, and a template of ours stands before the
# one that loads MathJax. Another turns rubrics into buttons. To come first they need all folders named here:
# nbgrader's, then nbconvert's in its own order.
ours = Path(__file__).resolve().parent / "autograder" / "pages" / "templates" / "formgrader"
nbgraders = Path(find_spec("nbgrader").origin).parent / "server_extensions" / "formgrader" / "templates" / "formgrade"
share = Path(sys.prefix, "share", "jupyter")
nbconverts = share / "nbconvert" / "templates"
folders = (ours, nbgraders, nbgraders.parent, nbconverts / "classic", nbconverts / "base", share, nbconverts)
c.HTMLExporter.template_paths = [str(folder) for folder in folders]

# ------------------------------------------------------- nbgrader collect and nbgrader release_feedback
# Where students have accounts, the exchange is theirs to write: nbgrader's own collector follows their links.
c.ExchangeFactory.collect = "autograder.hub.exchange.CollectFromOwners"
c.ExchangeFactory.release_feedback = "autograder.hub.exchange.ReleaseFeedbackToOwners"
