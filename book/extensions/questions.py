"""Sphinx extension: questions for the reader, written in plain Markdown, which work with and without JavaScript.

    ::::{question} Which numbers add up to one?
    :kind: prediction

    - [x] the rows of the weights

      A row belongs to a query, which shares out one unit of attention.
    - [ ] the columns of the weights

      A key can be wanted by everyone. See {ref}`the softmax <the-softmax>`.
    ::::

A choice is a `<details>`: mouse, finger, Enter or Space opens it and shows its answer below it. The book's script only
stores which choices are open. We use no radio buttons, because the arrow keys of a radio group would answer every
choice on the way. Questions of the other kinds have an `{answer}` instead of choices, which opens in the same way.
"""

import hashlib
from collections.abc import Callable
from html import escape
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

from book.extensions.page_files import add_files

# Kind -> its label on the page.
CHOICES = {"prediction": "Predict", "mistake": "Find the mistake"}
FOLDED = {"derivation": "Pen and paper", "words": "In your own words"}
KINDS = {**CHOICES, **FOLDED}
ANSWERS = {"derivation": "The worked answer", "words": "Compare with a model answer"}

Visitor = Callable[[Any, Any], None]  # a function of a writer and a node
logger = logging.getLogger(__name__)


# ------------------------------------------------------------------------------------------------ nodes


class question(nodes.General, nodes.Element):
    """A question. `kind` is one of KINDS; `key` is the name under which a browser stores the reader's answer."""


class question_title(nodes.TextElement):
    """The sentence that asks the question."""


class choices(nodes.Element):
    """The answers of a question with choices."""


class answer(nodes.Element):
    """A fold. `verdict` is "yes" or "no" for a choice, and "" for a worked answer or a model answer."""


class answer_title(nodes.TextElement):
    """The visible line of a closed fold."""


# ------------------------------------------------------------------------------------------------ directives


class Question(SphinxDirective):
    """`{question}`: the question in one sentence, its kind, a body, and choices as a task list or an `{answer}`."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"kind": lambda kind: directives.choice(kind, tuple(KINDS))}

    def run(self) -> list[nodes.Node]:
        kind = self.options.get("kind", "")
        text = "\n".join([kind, self.arguments[0], *self.content])
        # A question with another text has another key, so that it counts as not answered yet.
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
    """`{answer}`: the answer to a question that readers solve on paper or answer in their own words."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        return [answer("", answer_title(), *self.parse_content_to_nodes(), verdict="")]


def _choice(item: nodes.Element) -> answer:
    """Return an item of a task list as an answer. The first paragraph is its title; the rest shows once it is open."""
    first, *rest = item.children
    box, *text = first.children
    if text and isinstance(text[0], nodes.Text):
        text[0] = nodes.Text(text[0].lstrip())
    verdict = "yes" if "checked" in box.astext() else "no"
    if rest and isinstance(rest[0], nodes.paragraph):
        rest[0].insert(0, [nodes.strong("", f"{verdict.capitalize()}."), nodes.Text(" ")])
    return answer("", answer_title("", "", *text), *rest, verdict=verdict)


def problems(node: question) -> list[str]:
    """Return what is wrong with a question, as phrases for a warning; an empty list if nothing is."""
    phrases = []
    offered: list[Any] = [choice for part in node.findall(choices) for choice in part]
    folded = [part for part in node.children if isinstance(part, answer)]
    if node["kind"] not in KINDS:
        phrases.append(f"it needs a kind: {', '.join(KINDS)}")
    elif node["kind"] in CHOICES:
        if len(offered) < 2 or sum(choice["verdict"] == "yes" for choice in offered) != 1:
            phrases.append("it needs two or more choices, `- [ ] ...`, one of them right, `- [x] ...`")
    elif len(folded) != 1 or offered:
        phrases.append("it needs one {answer}, and no choices")
    for choice in offered:
        if len(choice) < 2 or not isinstance(choice[1], nodes.paragraph):
            phrases.append(f"the choice {choice[0].astext()!r} needs an answer: a paragraph of its own below it")
        elif choice["verdict"] == "no" and not any(choice.findall(_is_reference)):
            phrases.append(f"the wrong choice {choice[0].astext()!r} needs a reference to the section to read again")
    return phrases


def _is_reference(node: nodes.Node) -> bool:
    return isinstance(node, (nodes.reference, pending_xref))


# ------------------------------------------------------------------------------------------------ HTML


def visit_question(self: HTML5Translator, node: question) -> None:
    self.body.append(self.starttag(node, "div", CLASS=f"question {node['kind']}", **{"data-key": node["key"]}))
    self.body.append("<fieldset>\n")


def visit_question_title(self: HTML5Translator, node: question_title) -> None:
    kind = KINDS[node.parent["kind"]]
    self.body.append(f'<legend><span class="question-kind">{escape(kind)}</span> ')


def visit_answer(self: HTML5Translator, node: answer) -> None:
    if node["verdict"]:
        self.body.append('<li aria-live="polite">')
    elif node.parent["kind"] == "words":
        name = f"{node.parent['ids'][0]}-words"
        self.body.append(f'<label for="{name}">Your answer</label>\n<textarea id="{name}" rows="5"></textarea>\n')
    self.body.append(f'<details class="{" ".join(filter(None, ["answer", node["verdict"]]))}">')


def depart_answer(self: HTML5Translator, node: answer) -> None:
    self.body.append("</div></details>" + ("</li>\n" if node["verdict"] else "\n"))


def writing(html: str) -> Visitor:
    """Return a visitor that writes the same HTML for every node."""
    return lambda self, node: self.body.append(html)


VISITORS: dict[type[nodes.Element], tuple[Visitor, Visitor]] = {
    question: (visit_question, writing("</fieldset>\n</div>\n")),
    question_title: (visit_question_title, writing("</legend>\n")),
    choices: (writing('<ul class="choices">\n'), writing("</ul>\n")),
    answer: (visit_answer, depart_answer),
    answer_title: (writing("<summary><span>"), writing('</span></summary>\n<div class="answer-text">')),
}


def write_content_alone(self: nodes.NodeVisitor, node: nodes.Node) -> None:
    """Add nothing around a node's content: other writers show a question as the text in it."""


def setup(app: Sphinx) -> None:
    app.add_directive("question", Question)
    app.add_directive("answer", Answer)
    plain = write_content_alone, write_content_alone
    for kind, html in VISITORS.items():
        app.add_node(kind, html=html, latex=plain, text=plain)
    files = "questions.css", "questions.js", "questions_on_paper.js"
    add_files(app, *files, where=lambda page, doctree: any(doctree.findall(question)))
