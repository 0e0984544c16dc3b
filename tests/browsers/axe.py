"""What axe-core finds wrong with a page for whoever hears it, speaks to it or moves in it by keyboard."""

import json
from importlib.resources import files

import axe_core_python

SCRIPT = (files(axe_core_python) / "axe.min.js").read_text(encoding="utf-8")
# All that axe-core has on by itself, but for what is slow and held by other tests, and what axe has given up since; and
# one that it calls an experiment.
OFF, ON = ("color-contrast", "duplicate-id"), ("label-content-name-mismatch",)
RULES = json.dumps({rule: {"enabled": rule in ON} for rule in (*OFF, *ON)})


def violations(browser):
    """What it finds on the open page, with every fold open meanwhile: rule and element, for each."""
    browser.evaluate(f"{SCRIPT}; 1")
    return browser.evaluate(f"""(async () => {{
      const folds = [...document.querySelectorAll("details:not([open])")];
      for (const fold of folds) fold.open = true;
      const found = await axe.run(document, {{rules: {RULES}, resultTypes: ["violations"]}});
      for (const fold of folds) fold.open = false;
      return found.violations.flatMap(({{id, nodes}}) => nodes.map(({{html}}) => `${{id}}: ${{html.slice(0, 150)}}`));
    }})()""")
