"""Pages and tables for students and instructors.

For students, `feedback.py` renders the page of feedback. `code.py` highlights their code in it, `remarks.py`
puts an instructor's remarks below its lines, and `safe_markdown.py` converts their Markdown. None of them trusts what
students wrote.

For instructors, `class_report/` makes the pages about a graded class, `kill_page.py` shows which cases catch which
mistakes, and `terminal.py` prints tables. `instructor.py` loads the templates of the pages for instructors. All
templates are in `templates/`.
"""
