"""Sphinx extension: questions to answer before one looks, in plain Markdown, with or without JavaScript.

    ::::{question} Which numbers add up to one?
    :kind: prediction

    - [x] the rows of the weights

      A row belongs to a query, which shares out one unit of attention.
    - [ ] the columns of the weights

      A key can be wanted by everyone. See {ref}`the softmax <the-softmax>`.
    ::::

A choice is a `<details>`: opened by mouse, finger, Enter or Space, it shows its answer below itself, and the book's
script only remembers which are open. Not a radio button, since the arrow keys of a radio group would answer every
choice they pass. The other kinds hold an `{answer}` in place of choices, folded in the same way.
"""

import hashlib
from html import escape

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.addnodes import pending_xref
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

CHOICES = {"prediction": "Predict", "mistake": "Find the mistake"}
FOLDED = {"derivation": "Pen and paper", "words": "In your own words"}
KINDS = {**CHOICES, **FOLDED}
ANSWERS = {"derivation": "The worked answer", "words": "Compare with a model answer"}

logger = logging.getLogger(__name__)


class question(nodes.General, nodes.Element):
    """A question; `kind` is one of KINDS, `key` the name that its state is remembered by."""


class question_title(nodes.TextElement):
    """What is asked."""


class choices(nodes.Element):
    """The answers of a question with choices."""


class answer(nodes.Element):
    """One thing to open; `verdict` is "yes" or "no" for a choice, "" for a worked or a model answer."""


class answer_title(nodes.TextElement):
    """What one sees of it before it is open."""


class Question(SphinxDirective):
    """`{question} What is asked` with a kind, a body, and at its end choices as a task list, or an `{answer}`."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"kind": lambda kind: directives.choice(kind, tuple(KINDS))}

    def run(self):
        kind = self.options.get("kind", "")
        text = "\n".join([kind, self.arguments[0], *self.content])
        # A question that reads differently is another one, and has not been answered yet.
        key = f"question {self.env.docname} {hashlib.sha256(text.encode()).hexdigest()[:12]}"
        node = question(text, kind=kind, key=key, ids=[f"question-{self.env.new_serialno('question') + 1}"])
        self.set_source_info(node)
        title, messages = self.parse_inline(self.arguments[0], lineno=self.lineno)
        node += [question_title("", "", *title), *messages, *self.parse_content_to_nodes()]
        for child in list(node.children):
            if isinstance(child, nodes.bullet_list) and "contains-task-list" in child["classes"]:
                child.replace_self(choices("", *map(_choice, child.children)))
            elif isinstance(child, answer):
                child[0] += nodes.Text(ANSWERS.get(kind, "The answer"))
        for problem in problems(node):
            logger.warning("question %r: %s", self.arguments[0], problem, location=node, type="questions")
        return [node]


class Answer(SphinxDirective):
    """`{answer}` in a question to be answered on paper or in words."""

    has_content = True

    def run(self):
        return [answer("", answer_title(), *self.parse_content_to_nodes(), verdict="")]


def _choice(item):
    """An item of a task list: its first paragraph is the choice, the rest its answer."""
    first, *rest = item.children
    box, *text = first.children
    if text and isinstance(text[0], nodes.Text):
        text[0] = nodes.Text(text[0].lstrip())
    verdict = "yes" if "checked" in box.astext() else "no"
    if rest and isinstance(rest[0], nodes.paragraph):
        rest[0].insert(0, [nodes.strong("", f"{verdict.capitalize()}."), nodes.Text(" ")])
    return answer("", answer_title("", "", *text), *rest, verdict=verdict)


def problems(node):
    """What is wrong with a question, in words; an empty list if it is a good one."""
    found = []
    offered = [choice for part in node.findall(choices) for choice in part]
    folded = [part for part in node.children if isinstance(part, answer)]
    if node["kind"] not in KINDS:
        found.append(f"it needs a kind: {', '.join(KINDS)}")
    elif node["kind"] in CHOICES:
        if len(offered) < 2 or sum(choice["verdict"] == "yes" for choice in offered) != 1:
            found.append("it needs two or more choices, `- [ ] ...`, one of them right, `- [x] ...`")
    elif len(folded) != 1 or offered:
        found.append("it needs one {answer}, and no choices")
    for choice in offered:
        if len(choice) < 2 or not isinstance(choice[1], nodes.paragraph):
            found.append(f"the choice {choice[0].astext()!r} needs an answer: a paragraph of its own below it")
        elif choice["verdict"] == "no" and not any(choice.findall(_refers)):
            found.append(f"the wrong choice {choice[0].astext()!r} needs a reference: where to read again")
    return found


def _refers(node):
    return isinstance(node, (nodes.reference, pending_xref))


def visit_question(self, node):
    self.body.append(self.starttag(node, "div", CLASS=f"question {node['kind']}", **{"data-key": node["key"]}))
    self.body.append("<fieldset>\n")


def depart_question(self, node):
    self.body.append("</fieldset>\n</div>\n")


def visit_question_title(self, node):
    kind = KINDS[node.parent["kind"]]
    self.body.append(f'<legend><span class="question-kind">{escape(kind)}</span> ')


def depart_question_title(self, node):
    self.body.append("</legend>\n")


def visit_choices(self, node):
    self.body.append('<ul class="choices">\n')


def depart_choices(self, node):
    self.body.append("</ul>\n")


def visit_answer(self, node):
    if node["verdict"]:
        self.body.append('<li aria-live="polite">')
    elif node.parent["kind"] == "words":
        name = f"{node.parent['ids'][0]}-words"
        self.body.append(f'<label for="{name}">Your answer</label>\n<textarea id="{name}" rows="5"></textarea>\n')
    self.body.append(f'<details class="{" ".join(filter(None, ["answer", node["verdict"]]))}">')


def depart_answer(self, node):
    self.body.append("</div></details>" + ("</li>\n" if node["verdict"] else "\n"))


def visit_answer_title(self, node):
    self.body.append("<summary><span>")


def depart_answer_title(self, node):
    self.body.append('</span></summary>\n<div class="answer-text">')


def load_script(app, pagename, templatename, context, doctree):
    """Only a page with a question loads what a question needs."""
    if doctree is not None and any(doctree.findall(question)):
        app.add_css_file("questions.css")
        app.add_js_file("questions.js", loading_method="defer")


def _pass(self, node):
    """Elsewhere a question is the text that it holds."""


def setup(app):
    app.add_directive("question", Question)
    app.add_directive("answer", Answer)
    for kind in (question, question_title, choices, answer, answer_title):
        name = kind.__name__
        html = globals()[f"visit_{name}"], globals()[f"depart_{name}"]
        app.add_node(kind, html=html, latex=(_pass, _pass), text=(_pass, _pass))
    app.connect("html-page-context", load_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
