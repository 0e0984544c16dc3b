"""The extension in `_config.yml` loads all others."""

import pytest

from book.extensions import EXTENSIONS
from tests.book.conftest import ROOT

pytestmark = pytest.mark.book


def test_every_module_with_a_setup_is_loaded_once():
    modules = [path for path in (ROOT / "book").rglob("*.py") if "\ndef setup(" in path.read_text(encoding="utf-8")]
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in modules}
    assert sorted(EXTENSIONS) == sorted(names - {"book.extensions.__init__"})
