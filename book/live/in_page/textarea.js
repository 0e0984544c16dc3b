/* A plain field for Python code: a textarea under a coloured copy of its text. The page shows it until CodeMirror has
   loaded, or if CodeMirror does not load. */

const KEYWORDS = /^(?:and|as|assert|async|await|break|class|continue|def|del|elif|else|except|finally|for|from|global|if|import|in|is|lambda|nonlocal|not|or|pass|raise|return|try|while|with|yield)$/;
const CONSTANTS = /^(?:None|True|False)$/;
const TOKENS = new RegExp([
  /(?<string>[rbfuRBFU]{0,2}(?:"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?))/,
  /(?<comment>#[^\n]*)/,
  /(?<defined>(?<=\b(?:def|class)\s+)[\p{L}_]\w*)/,
  /(?<name>[\p{L}_]\w*)/,
  /(?<number>\b\d[\w.]*|\.\d[\w]*)/,
  /(?<operator>[-+*/%@=<>!&|^~]+)/,
].map((part) => part.source).join("|"), "gu");
const INDENT = "    ";

/** Returns the Pygments class of a token, so that the book's colours apply. */
function kind({ string, comment, defined, name, number, operator }) {
  if (string) return "s2";
  if (comment) return "c1";
  if (defined) return "nf";
  if (name) return KEYWORDS.test(name) ? "k" : CONSTANTS.test(name) ? "kc" : "n";
  return number ? "mi" : operator && "o";
}

/** Returns the lines of a source as elements with coloured tokens. */
export function coloured(source) {
  const pieces = [];
  let end = 0;
  for (const token of source.matchAll(TOKENS)) {
    pieces.push(["", source.slice(end, token.index)], [kind(token.groups), token[0]]);
    end = token.index + token[0].length;
  }
  pieces.push(["", source.slice(end)]);
  const lines = [document.createElement("span")];
  for (const [name, text] of pieces) {
    text.split("\n").forEach((part, i) => {
      if (i) lines.push(document.createElement("span"));
      if (!part) return;
      const piece = document.createElement("span");
      piece.className = name;
      piece.textContent = part;
      lines.at(-1).append(name ? piece : part);
    });
  }
  for (const line of lines) {
    line.className = "live-line";
    line.append("\n");
  }
  return lines;
}

export class Textarea {
  /** @param {{label: string, help: string, source: string, changed: Function, run: Function}} options
      help: id of the element that describes the keys; changed: called after the reader has changed the text. */
  constructor({ label, help, source, changed, run }) {
    this.copy = document.createElement("pre");
    this.copy.className = "highlight"; // for the colours
    this.copy.setAttribute("aria-hidden", "true");
    this.field = document.createElement("textarea");
    Object.assign(this.field, { value: source, spellcheck: false, wrap: "off", rows: 1 });
    for (const name of ["autocapitalize", "autocomplete", "autocorrect"]) this.field.setAttribute(name, "off");
    this.field.setAttribute("aria-label", label);
    this.field.setAttribute("aria-describedby", help);
    this.element = document.createElement("div");
    this.element.className = "live-textarea";
    this.element.append(this.field, this.copy);
    this.field.addEventListener("input", () => { this.colour(); changed(); });
    this.field.addEventListener("keydown", (event) => this.handleKey(event, run));
    this.field.addEventListener("blur", () => { this.leaving = false; });
    this.field.addEventListener("compositionstart", () => { this.isComposing = true; });
    this.field.addEventListener("compositionend", () => { this.isComposing = false; });
    this.colour();
  }

  get source() {
    return this.field.value;
  }

  /** Replaces the text. Ctrl-Z does not undo it. */
  set source(text) {
    this.field.value = text;
    this.colour();
  }

  /** The start and the end of the selected text. */
  get selection() {
    return [this.field.selectionStart, this.field.selectionEnd];
  }

  focus() {
    this.field.focus();
  }

  /** Marks the line of an error until the text changes. Without a line it removes the mark. */
  markError(line) {
    [...this.copy.children].forEach((element, i) => element.classList.toggle("live-error-line", i + 1 === line));
  }

  colour() {
    this.copy.replaceChildren(...coloured(this.field.value));
  }

  /** Replaces the selection as if the reader typed the text, so that Ctrl-Z undoes it. */
  type(text) {
    this.field.focus();
    if (!document.execCommand("insertText", false, text)) {
      this.field.setRangeText(text, this.field.selectionStart, this.field.selectionEnd, "end");
      this.field.dispatchEvent(new Event("input"));
    }
  }

  /** Handles keys. After Escape, Tab leaves the field. */
  handleKey(event, run) {
    const leaving = this.leaving;
    this.leaving = event.key === "Escape" || (leaving && event.key === "Shift");
    if (event.isComposing || event.altKey || event.metaKey) return;
    if (event.key === "Enter" && (event.shiftKey || event.ctrlKey)) run();
    else if (event.key === "Enter") this.type(`\n${this.nextIndent()}`);
    else if (event.key === "Tab" && !event.ctrlKey && !leaving) this.indent(event.shiftKey);
    else if (event.key === "Backspace" && !event.ctrlKey && this.deleteIndent()) return event.preventDefault();
    else return;
    event.preventDefault();
  }

  /** Returns the current line up to the cursor. */
  lineBeforeCursor() {
    return this.source.slice(0, this.field.selectionStart).split("\n").at(-1);
  }

  /** Returns the spaces that a new line below this one begins with. */
  nextIndent() {
    const line = this.lineBeforeCursor();
    const spaces = line.match(/^ */)[0];
    if (/:\s*(?:#.*)?$/.test(line)) return spaces + INDENT;
    return /^\s*(?:return|raise|pass|break|continue)\b/.test(line) ? spaces.slice(INDENT.length) : spaces;
  }

  /** Deletes a whole step if the cursor is in the spaces at the start of a line. Returns whether it did. */
  deleteIndent() {
    const line = this.lineBeforeCursor();
    if (this.field.selectionStart !== this.field.selectionEnd || !line || line.trim()) return false;
    this.field.selectionStart -= (line.length - 1) % INDENT.length + 1;
    document.execCommand("delete");
    return true;
  }

  /** Inserts a step; with several lines selected it indents these lines, and with Shift it unindents them. */
  indent(back) {
    const { selectionStart: start, selectionEnd: end } = this.field;
    if (!back && !this.source.slice(start, end).includes("\n")) {
      this.type(" ".repeat(INDENT.length - this.lineBeforeCursor().length % INDENT.length));
      return;
    }
    const first = this.source.lastIndexOf("\n", start - 1) + 1;
    const lines = this.source.slice(first, end).split("\n");
    const moved = lines.map((line) => (back ? line.replace(/^ {1,4}/, "") : line && INDENT + line)).join("\n");
    this.field.setSelectionRange(first, end);
    this.type(moved);
    this.field.setSelectionRange(lines.length > 1 ? first : first + moved.length, first + moved.length);
  }
}
