"""What the text of a page waits for: few scripts, and style sheets of few bytes. Neither depends on the clock."""

import gzip
import re

import pytest

pytestmark = pytest.mark.book

HEAD = re.compile(r"<head>(.*?)</head>", re.DOTALL)
SCRIPT = re.compile(r'<script(?![^>]*(?:\sdefer|\sasync|\stype=))[^>]*\ssrc="([^"?]*)')
SHEET = re.compile(r'<link(?![^>]*media="print")(?=[^>]*rel="stylesheet")[^>]*href="([^"?]*)')


@pytest.mark.parametrize("page", ["01_attention", "05_residual", "exercises"])
def test_the_text_waits_for_two_small_scripts_and_for_few_bytes_of_style(html, page):
    file = html / "chapters" / f"{page}.html"
    head = HEAD.search(file.read_text(encoding="utf-8"))[1]
    scripts, sheets = ([file.parent / name for name in blocking.findall(head)] for blocking in (SCRIPT, SHEET))
    assert [script.name for script in scripts] == ["documentation_options.js", "storage.js"]
    assert 'rel="preload"' not in head  # it would compete with the style sheets
    assert 10 < len(sheets) <= 23
    assert sum(len(gzip.compress(path.read_bytes())) for path in [*scripts, *sheets]) < 230_000
