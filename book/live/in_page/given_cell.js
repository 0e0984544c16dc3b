/* A cell that the book gives. The reader can open it in its place, change it and run it. */

import { isLent } from "./borrowing.js";
import { Cell, printed } from "./cell.js";
import { coded, make } from "./elements.js";
import { earlier } from "./exercise.js";
import { config } from "./page_data.js";
import { python } from "./python.js";
import { storeChange, storedChange } from "./storage.js";
import { Tabs } from "./two_tabs.js";
import { unsolved } from "./unsolved.js";
import { Uses } from "./uses.js";

export class GivenCell {
  /** @param {Element} element its cell
      @param {{rests?: string[], lacks?: string, source?: string}} data
      @param {{helpTrying: string, exercises: Exercise[], cells: (Exercise|GivenCell)[], reasons: Set<string>}} page
          reasons: sentences of cells above on what the page lacks, because we show each sentence once. */
  constructor(element, data, page) {
    Object.assign(this, { element, data, page, name: element.id, number: Number(element.id.split("-")[1]) + 1 });
    this.text = data.source ?? element.querySelector("pre").textContent.replace(/\n+$/, "");
    this.input = element.querySelector(":scope > details, :scope > .cell_input");
    if (!this.input) return; // the page does not show its code
    if (page.reasons.has(data.lacks)) return;
    this.note = make("span", { className: "live-note" }, ...coded(data.lacks ?? ""));
    this.row = make("div", { className: "live-try" }, this.note);
    this.input.after(this.row);
    if (data.lacks) return void page.reasons.add(data.lacks);
    this.button = make("button", { type: "button", "aria-label": `Try it: cell ${this.number}` }, "Try it");
    this.button.addEventListener("click", () => this.open().editor.focus());
    this.row.append(this.button);
    const isEarlier = (name) => !page.exercises.some((exercise) => exercise.name === name);
    this.uses = new Uses((data.rests ?? []).filter((name) => isEarlier(name) && isLent(name)), () => page.show());
    this.row.before(this.uses.element);
    this.follow();
  }

  /** Takes over what this browser has stored, from an earlier visit or from another tab. */
  follow() {
    if (this.opened) this.opened.tabs.follow();
    else if (this.button && storedChange(config.chapter, this.text).source !== undefined) this.open();
  }

  /** The current source of the cell. */
  get sourceInUse() {
    return this.opened ? this.opened.editor.source : this.text;
  }

  open() {
    this.opened ??= new OpenedCell(this);
    this.toggle(true);
    return this.opened;
  }

  close() {
    this.toggle(false);
    this.button.focus();
  }

  toggle(isOpen) {
    this.opened.box.hidden = !isOpen;
    for (const part of [this.input, this.row]) part.classList.toggle("live-replaced", isOpen);
    if (isOpen) this.opened.bar.append(this.note);
    else this.row.prepend(this.note);
  }

  /** Shows which exercises the cell waits for, and offers to borrow those that the book lends. */
  show() {
    if (!this.button) return;
    const { data, page, note, uses } = this;
    note.replaceChildren(...unsolved((data.rests ?? []).filter((name) => !uses.names.has(name)), page.exercises));
    uses.show();
    uses.element.hidden ||= !uses.missing.length && !uses.borrowed.length;
  }
}

class OpenedCell extends Cell {
  constructor(cell) {
    const { name, number, page, text } = cell;
    const storage = { read: () => storedChange(config.chapter, text), write: (state) => storeChange(config.chapter, text, state) };
    const state = storage.read();
    const source = state.source ?? text;
    super({ label: `Cell ${number}, in Python`, group: `Cell ${number}`, id: `live-${name}`, help: page.helpTrying, run: "Run", source });
    Object.assign(this, { cell, state, source: text });
    this.tabs = new Tabs(this, storage);
    this.closeButton = make("button", { type: "button" }, "Close");
    this.closeButton.addEventListener("click", () => cell.close());
    this.status.before(this.closeButton);
    const outputs = cell.element.querySelectorAll(".cell_output .output");
    this.outputsInBook = [...outputs].map((node) => ({ node, place: document.createComment("") }));
    this.figure = cell.element.querySelector(".cell_output figure");
    this.output = make("div", { className: "live-output cell_output" });
    this.drawing = make("div", { className: "output text_html" });
    cell.input.before(this.box);
    cell.row.after(this.output);
    if (this.state.source !== undefined) this.status.textContent = "You have changed this cell. The output below is the book’s until you run it.";
    this.show();
  }

  store() {
    const { source } = this.editor;
    this.state.source = source === this.source ? undefined : source;
    this.tabs.store();
    this.show();
  }

  changed() {
    this.status.textContent = "";
    this.store();
    python.start().catch(() => {}); // the next run reports a failure
  }

  show() {
    const asInBook = this.state.source === undefined && !this.hasNewOutput;
    this.copyForPaper(this.state.source !== undefined);
    this.resetButton.hidden = asInBook;
    this.closeButton.hidden = !asInBook;
    this.offerToBringBack();
  }

  reset() {
    if (this.state.source !== undefined) this.state.aside = this.state.source;
    this.editor.source = this.source;
    this.restoreOutput();
    this.status.textContent = "The book’s cell is back.";
    this.store();
    (this.bringBackButton.hidden ? this.closeButton : this.bringBackButton).focus();
  }

  get above() {
    const { cells } = this.cell.page;
    return cells.slice(0, cells.indexOf(this.cell));
  }

  get sourcesAbove() {
    return this.above.map(({ sourceInUse }) => sourceInUse);
  }

  /** Runs the cell beneath the cells above, as they are now. */
  ask() {
    const { page, data } = this.cell;
    const cells = [...this.above, this.cell].map((cell) => [cell.name, cell.sourceInUse]);
    const rests = (data.rests ?? []).filter((name) => page.exercises.some((exercise) => exercise.name === name));
    const loading = () => { this.status.textContent = "Loading matplotlib, about 9 MB the first time …"; };
    const loaded = () => { this.status.textContent = "Running …"; };
    return python.run({ cells, rests, helpers: config.helpers, earlier: earlier() }, { tried: true, loading, loaded });
  }

  showAnswer({ out, nodes, value, error, skipped, waits, broken }) {
    if (waits) {
      this.restoreOutput();
      this.status.replaceChildren(...coded(waits));
      return this.show();
    }
    const parts = [...printed({ out, error, skipped }), ...this.offerToClean(error)];
    if (value) parts.push(make("pre", { tabIndex: 0, "aria-label": "The value of its last line" }, value));
    if (error && broken.some((name) => this.cellAbove(name)?.opened?.state.source !== undefined)) {
      parts.push(make("p", {}, "A cell above that you have changed raises an error."));
    }
    this.showOutput(parts, nodes);
    if (error) this.sayOnce([error.split("\n").at(-1)]);
    else this.status.textContent = parts.length || nodes.length ? "Done." : "The cell ran, and printed nothing.";
  }

  cellAbove(name) {
    return this.cell.page.cells.find((cell) => cell.name === name);
  }

  /** Shows elements, and the nodes of a figure, instead of the book's output. */
  showOutput(parts, nodes = []) {
    for (const { node, place } of this.outputsInBook) if (node.parentNode) node.replaceWith(place);
    this.output.replaceChildren(...parts);
    this.drawing.replaceChildren(...nodes);
    if (this.figure) this.figure.prepend(this.drawing);
    else if (nodes.length) this.output.append(this.drawing);
    if (this.figure) this.figure.hidden = !nodes.length;
    this.hasNewOutput = true;
    this.show();
  }

  /** Shows the book's output again. */
  restoreOutput() {
    for (const { node, place } of this.outputsInBook) if (place.parentNode) place.replaceWith(node);
    this.output.replaceChildren();
    this.drawing.remove();
    if (this.figure) this.figure.hidden = false;
    this.hasNewOutput = false;
  }
}
