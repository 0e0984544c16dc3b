"""Find what is wrong with a page for readers with a screen reader, voice control or only a keyboard, with axe-core."""

import json
from importlib.resources import files

import axe_core_python

SCRIPT = (files(axe_core_python) / "axe.min.js").read_text(encoding="utf-8")
# axe-core's default rules, without a slow one that other tests replace and a deprecated one, and with one that axe-core
# calls experimental.
OFF, ON = ("color-contrast", "duplicate-id"), ("label-content-name-mismatch",)
RULES = json.dumps({rule: {"enabled": rule in ON} for rule in (*OFF, *ON)})


def violations(browser):
    """Return the rule and the element of each violation on the open page. All folds are open during the search."""
    browser.evaluate(f"{SCRIPT}; 1")
    return browser.evaluate(f"""(async () => {{
      const folds = [...document.querySelectorAll("details:not([open])")];
      for (const fold of folds) fold.open = true;
      const results = await axe.run(document, {{rules: {RULES}, resultTypes: ["violations"]}});
      for (const fold of folds) fold.open = false;
      return results.violations.flatMap(({{id, nodes}}) => nodes.map(({{html}}) => `${{id}}: ${{html.slice(0, 150)}}`));
    }})()""")
