/* A field for Python code: CodeMirror, with Python's grammar, the book's colours, and the keys of a notebook. */

import * as CM from "./codemirror.js";
import { completion } from "./completion.js";
import { COLOURS, THEME } from "./code_theme.js";

const { EditorView } = CM;
const LEAVES_ITS_BLOCK = new Set(["ReturnStatement", "RaiseStatement", "PassStatement", "BreakStatement", "ContinueStatement"]);
const INDENT = 4;
const MS_TO_PARSE = 1000; // on a busy machine; usually a few are enough

const bySetter = CM.Annotation.define(); // marks a change that the page makes, not the reader

/* The line of an error. The next change removes the mark. */
const setErrorLine = CM.StateEffect.define();
const errorLine = CM.StateField.define({
  create: () => CM.Decoration.none,
  update(marks, transaction) {
    const effect = transaction.effects.find((candidate) => candidate.is(setErrorLine));
    if (!effect) return transaction.docChanged ? CM.Decoration.none : marks;
    const { doc } = transaction.state;
    const isLine = effect.value >= 1 && effect.value <= doc.lines;
    return isLine ? CM.Decoration.set(CM.Decoration.line({ class: "live-error-line" }).range(doc.line(effect.value).from)) : CM.Decoration.none;
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Indents the line below `return` and the like one step less. The grammar indents all other lines. */
const dedent = CM.indentService.of(({ state, simulatedBreak }, position) => {
  if (simulatedBreak !== position) return undefined;
  const statement = statementBefore(state, position);
  if (!statement || !LEAVES_ITS_BLOCK.has(statement.name) || hasError(statement)) return undefined;
  const { from, text } = state.doc.lineAt(statement.from);
  const indentation = text.search(/\S/);
  return statement.from === from + indentation ? Math.max(0, indentation - INDENT) : undefined; // not after `if x: return`
});

/** Returns the innermost statement that ends before a position of its last line, without its comment. */
function statementBefore(state, position) {
  const tree = CM.syntaxTree(state);
  const { from } = state.doc.lineAt(position);
  let node = tree.resolveInner(position, -1);
  if (node.name === "Comment") node = tree.resolveInner(from + state.sliceDoc(from, node.from).trimEnd().length, -1);
  else node = tree.resolveInner(from + state.sliceDoc(from, position).trimEnd().length, -1);
  while (node && !node.name.endsWith("Statement")) node = node.parent;
  return node && node.to <= position ? node : null;
}

function hasError(node) {
  let found = false;
  node.cursor().iterate(({ type }) => { found ||= type.isError; });
  return found;
}

/** Inserts a step at the cursor, or indents the lines of a selection that has several. */
function indent(view) {
  const { state } = view;
  const { from, to } = state.selection.main;
  if (state.doc.lineAt(from).number !== state.doc.lineAt(to).number) return CM.indentMore(view);
  const spaces = " ".repeat(INDENT - (from - state.doc.lineAt(from).from) % INDENT);
  view.dispatch(state.replaceSelection(spaces), { userEvent: "input.indent", scrollIntoView: true });
  return true;
}

/** Parses up to the cursor, so that the next key indents by the text as it is. A key leaves CodeMirror 20 ms for it. */
function parse(view) {
  CM.forceParsing(view, view.state.selection.main.to, MS_TO_PARSE);
  return false;
}

/** After Escape the next Tab leaves the editor, however late it comes. CodeMirror's own limit is two seconds. */
const leaving = EditorView.domEventObservers({
  keydown({ key }, view) {
    if (key === "Escape") view.setTabFocusMode(true);
    else if (key !== "Tab" && key !== "Shift") view.setTabFocusMode(false);
  },
  blur: (event, view) => view.setTabFocusMode(false),
});

/** Hides typed characters from Sphinx, whose shortcut "/" exempts only the elements that it knows as fields. */
function keepFromPage(event) {
  if (event.key.length === 1 && !event.ctrlKey && !event.metaKey) event.stopPropagation();
}

const KEYS = CM.keymap.of([
  { key: "Enter", run: parse },
  { key: "Tab", run: CM.acceptCompletion },
  { key: "Tab", run: indent, shift: CM.indentLess },
  ...CM.closeBracketsKeymap,
  ...CM.completionKeymap.filter(({ key }) => key !== "Enter"), // Enter begins a new line
  ...CM.searchKeymap,
  ...CM.defaultKeymap,
  ...CM.historyKeymap,
]);

/* What all editors have in common. */
const SHARED = [
  new CM.LanguageSupport(CM.pythonLanguage),
  [CM.lineNumbers(), CM.history(), CM.bracketMatching(), CM.closeBrackets(), CM.search({ top: true })],
  [dedent, CM.indentOnInput(), CM.indentUnit.of(" ".repeat(INDENT)), CM.EditorState.tabSize.of(INDENT)],
  [COLOURS, THEME, errorLine, leaving, KEYS],
  CM.EditorState.phrases.of({ close: "× Close" }), // the label of a button that shows the sign
];

export class CodeField {
  /** @param options as an Editor takes them, with selection: the start and the end of the selected text. */
  constructor({ label, help, source, selection: [anchor, head] = [0, 0], changed, run, scope }) {
    const runs = () => { run(); return true; };
    const extensions = [
      CM.Prec.highest(CM.keymap.of([{ key: "Shift-Enter", run: runs }, { key: "Ctrl-Enter", run: runs }])),
      SHARED,
      completion(scope),
      EditorView.contentAttributes.of({ "aria-label": label, "aria-describedby": help, tabindex: "0", class: "highlight" }), // for the colours
      EditorView.updateListener.of(({ docChanged, transactions }) => {
        if (docChanged && !transactions.every((transaction) => transaction.annotation(bySetter))) changed();
      }),
    ];
    this.view = new EditorView({ state: CM.EditorState.create({ doc: source, selection: { anchor, head }, extensions }) });
    this.element = this.view.dom;
    this.element.addEventListener("keydown", keepFromPage);
  }

  get source() {
    return this.view.state.doc.toString();
  }

  set source(text) {
    if (text === this.source) return;
    const changes = { from: 0, to: this.view.state.doc.length, insert: text };
    this.view.dispatch({ changes, annotations: [bySetter.of(true), CM.isolateHistory.of("full")] });
  }

  focus() {
    this.view.focus();
  }

  markError(line) {
    this.view.dispatch({ effects: setErrorLine.of(line) });
  }
}
