"""Which student a file belongs to, from its name in a download. The names are made as the platforms' sources make them.

instructure/canvas-lms, lib/content_zipper.rb: sortable name in small letters and word characters, LATE, user id (or
anon_ and the anonymous id), attachment id, file name. moodle/moodle, mod/assign/classes/downloader.php: full name with
spaces for underscores, participant's number, assignsubmission_file, then the student's folders, or "_" and the file.
"""

import pytest

from autograder.platforms.file_names import (
    layout_of,
    parse_anonymous,
    parse_canvas,
    parse_folder,
    parse_moodle,
    root_of,
)

pytestmark = pytest.mark.grading
FOLDERS = "a folder for each student, named after the id"
FILE = "01_attention.ipynb"


@pytest.mark.parametrize(("path", "number", "name", "prefix"), [
    (f"Ada Lovelace_4711_assignsubmission_file/{FILE}", "4711", "Ada Lovelace", "Ada Lovelace_4711"),
    (f"Ada Lovelace_4711_assignsubmission_file_/{FILE}", "4711", "Ada Lovelace", "Ada Lovelace_4711"),
    (f"Ada Lovelace_4711_assignsubmission_file_{FILE}", "4711", "Ada Lovelace", "Ada Lovelace_4711"),
    (f"Ada Lovelace_4711_assignsubmission_file/week 1/x_9_assignsubmission_file_/{FILE}", "4711", "Ada Lovelace",
     "Ada Lovelace_4711"),
    (f"Zoë O'Hara-王_12_assignsubmission_file_{FILE}", "12", "Zoë O'Hara-王", "Zoë O'Hara-王_12"),
    (f"Participant_3_assignsubmission_file/{FILE}", "3", "Participant", "Participant_3"),
])  # fmt: skip
def test_moodle(path, number, name, prefix):
    parsed = parse_moodle(path)
    assert (parsed.key, parsed.name, parsed.prefix) == (number, name, prefix)


@pytest.mark.parametrize("path", [
    f"lovelaceada_123_4567_{FILE}", f"ada/Ada Lovelace_4711_assignsubmission_file/{FILE}", FILE,
    f"Default group_assignsubmission_file/{FILE}",
])  # fmt: skip
def test_a_name_that_moodle_did_not_write(path):
    assert not parse_moodle(path).key and "Moodle" in parse_moodle(path).reason


@pytest.mark.parametrize(("path", "user", "order", "late", "prefix"), [
    (f"lovelaceada_123_4567_{FILE}", "123", (4567,), False, "lovelaceada_123_4567"),
    (f"lovelaceada_LATE_123_4567_{FILE}", "123", (4567,), True, "lovelaceada_LATE_123_4567"),
    ("lovelaceada_123_4567_01_attention-2.ipynb", "123", (4567,), False, "lovelaceada_123_4567"),
    (f"王_123_4567_{FILE}", "123", (4567,), False, "王_123_4567"),
    (f"von_der_heide_123_4567_{FILE}", "123", (4567,), False, "von_der_heide_123_4567"),
    ("lovelaceada_123_4567_10_project.ipynb", "123", (4567,), False, "lovelaceada_123_4567"),
    ("lovelaceada_123_4567_11_since-1.ipynb", "123", (4567,), False, "lovelaceada_123_4567"),
    ("lovelaceada_123_4567_12_dictionary.ipynb", "123", (4567,), False, "lovelaceada_123_4567"),
])  # fmt: skip
def test_canvas(path, user, order, late, prefix):
    parsed = parse_canvas(path)
    assert (parsed.key, parsed.order, parsed.late, parsed.prefix) == (user, order, late, prefix)


@pytest.mark.parametrize("path", [
    "eve_123_666_7890_x.ipynb",  # handed in by student 666, who has the sortable name "eve_123"
    "ada_123_4567_8_9_x.ipynb",  # or student 123 handed in a file "8_9_x.ipynb"
    "ada_123_4567_x_LATE_124_8_y.ipynb",
    "ada_123_4567_124_8_10_project.ipynb",
    "ada_123_4567_x_124_8_y.ipynb",
])  # fmt: skip
def test_a_name_with_two_readings_belongs_to_no_student(path):
    parsed = parse_canvas(path)
    assert not parsed.key and "student 123 or" in parsed.reason


@pytest.mark.parametrize("path", ["x/ada_123_4567_x.ipynb", "ada_123_x.ipynb", FILE, "Ada_123_4567_x.ipynb"])
def test_a_name_that_canvas_did_not_write(path):
    assert not parse_canvas(path).key


def test_canvas_with_anonymous_names():
    parsed = parse_anonymous(f"anon_Ab3xZ_4567_{FILE}")
    assert (parsed.key, parsed.late, parsed.prefix) == ("anon_Ab3xZ", False, "anon_Ab3xZ_4567")
    assert parse_anonymous(f"LATE_anon_Ab3xZ_4567_{FILE}").late
    assert not parse_anonymous(f"lovelaceada_123_4567_{FILE}").key


@pytest.mark.parametrize(("path", "student"), [
    (f"ada/{FILE}", "ada"), ("ada/01_attention/01_attention.ipynb", "ada"), ("ada/x_12345_9_y.ipynb", "ada"),
    ("ada/bob/x_12345_9_y.ipynb", "ada"), (FILE, ""),
])  # fmt: skip
def test_folders(path, student):
    assert parse_folder(path).key == student


@pytest.mark.parametrize(("paths", "description"), [
    (["A B_1_assignsubmission_file/x.ipynb", "C_2_assignsubmission_file/x_12345_9_y.ipynb"], "Moodle's download"),
    (["a_1_20_x.ipynb", "b_2_30_3_assignsubmission_file_x.ipynb", "c_3_40_5_6_x.ipynb"], "Canvas's download"),
    (["anon_Ab3xZ_1_x.ipynb", "LATE_anon_Qb3xZ_2_x.ipynb"], "Canvas's download, with anonymous names"),
    (["anon_11_20_x.ipynb", "b_2_30_x.ipynb", "c_3_40_x.ipynb"], "Canvas's download"),
    (["ada/x_12345_9_y.ipynb", "bob/A_3_assignsubmission_file_x.ipynb"], FOLDERS),
    (["a_1_20_x.ipynb/b.ipynb", "ada/b.ipynb"], FOLDERS),
])  # fmt: skip
def test_most_names_decide_the_layout_and_no_student_can_choose_it(paths, description):
    assert layout_of(paths).description == description


@pytest.mark.parametrize(("paths", "root"), [
    (["download/A_1_assignsubmission_file/x.ipynb", "download/B_2_assignsubmission_file/x.ipynb"], "download/"),
    (["d/a_1_20_x.ipynb"], "d/"), (["ada/01_attention.ipynb"], ""), (["A_1_assignsubmission_file/x.ipynb"], ""),
    (["d/a_1_20_x.ipynb", "e/b_2_30_x.ipynb"], ""),
])  # fmt: skip
def test_a_download_inside_one_more_folder(paths, root):
    assert root_of(paths) == root
