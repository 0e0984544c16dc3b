"""What a page loads before the first answer of its reader: few bytes. They take most of that time on a slow phone."""

import gzip
import json
import re

import pytest

pytestmark = pytest.mark.book

CONFIG = re.compile(r'<script type="application/json" id="live-exercises">(.*?)</script>', re.DOTALL)
COMPRESSED = {".mjs", ".wasm"}  # on their way from a server


@pytest.mark.parametrize("page", ["01_attention", "04_multihead", "12_dictionary"])
def test_the_first_answer_needs_few_bytes(html, page):
    file = html / "chapters" / f"{page}.html"
    config = json.loads(CONFIG.search(file.read_text(encoding="utf-8"))[1])
    (python,) = (html / "_static" / "live").glob("*/pyodide")
    first_key = config["data"][f"check/keys/{config['exercises'][0]['name']}.npz"]
    files = [python / name for name in config["python"] if name != "rest.zip"]
    files += [file.parent / config["start"], file.parent / first_key]
    contents = [
        gzip.compress(file.read_bytes(), 6) if file.suffix in COMPRESSED else file.read_bytes() for file in files
    ]
    assert 6_500_000 < sum(map(len, contents)) < 7_300_000
