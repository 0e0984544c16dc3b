"""How a file must be called so that a platform hands it to one student when many come back in a zip file.

Moodle, "Upload multiple feedback files in a zip": moodle/moodle, mod/assign/feedback/file/importziplib.php takes
name_participant_plugintype_plugin_file at any depth. Canvas, "Upload Submissions": instructure/canvas-lms,
app/models/abstract_assignment.rb (generate_comments_from_files) takes the first two words, between underscores, that
are numbers for the student and the attachment, and shows the file under the attachment's name.
"""

import re


def moodle_name(prefix: str, file: str) -> str:
    """ "Ada Lovelace_12_assignfeedback_file_01_attention.html" """
    return f"{prefix}_assignfeedback_file_{file}"


def canvas_name(prefix: str, file: str) -> str:
    """ "lovelaceada_123_4567_01_attention.html"; empty if Canvas would read another student's number in it."""
    numbers = [word for word in prefix.split("_") if re.fullmatch("[0-9]+", word)]
    return f"{prefix}_{file}" if len(numbers) == 2 else ""


NAMES = {"canvas": canvas_name, "moodle": moodle_name}
