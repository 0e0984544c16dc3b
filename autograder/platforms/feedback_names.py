"""Names for the files of feedback in a zip file, by which a platform gives each file to its student.

Moodle, "Upload multiple feedback files in a zip": moodle/moodle, mod/assign/feedback/file/importziplib.php takes
name_participant_plugintype_plugin_file at any depth. Canvas, "Upload Submissions": instructure/canvas-lms,
app/models/abstract_assignment.rb (generate_comments_from_files) splits the name at underscores, takes the first two
numbers for the student and the attachment, and shows the file under the attachment's name.
"""

import re


def moodle_name(prefix: str, file: str) -> str:
    """Return the name for Moodle: "Ada Lovelace_12_assignfeedback_file_01_attention.html"."""
    return f"{prefix}_assignfeedback_file_{file}"


def canvas_name(prefix: str, file: str) -> str:
    """Return the name for Canvas: "lovelaceada_123_4567_01_attention.html".

    Empty if the prefix does not hold exactly two numbers, because Canvas could then read another student's number.
    """
    return f"{prefix}_{file}" if len(numbers_in(prefix)) == 2 else ""


def numbers_in(prefix: str) -> list[str]:
    """Return the numbers in a prefix of Canvas's: the student's, then the attachment's."""
    return [word for word in prefix.split("_") if re.fullmatch("[0-9]+", word)]


NAMES = {"canvas": canvas_name, "moodle": moodle_name}
