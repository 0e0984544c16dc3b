/* A cell that the book gives: it can be opened in its place, changed and run. Its output stands still until then. */

import { Cell, printed } from "./cell.js";
import { earlier } from "./exercise.js";
import { coded, make } from "./elements.js";
import { config } from "./page_data.js";
import { python } from "./python.js";
import { changedTo, rememberChange } from "./storage.js";
import { unsolved } from "./unsolved.js";

export class Given {
  /** @param {Element} element its cell
      @param {{rests?: string[], lacks?: string, source?: string}} about
      @param {{helpTrying: string, exercises: Exercise[], cells: (Exercise|Given)[], lacking: Set<string>}} page
          `lacking` holds what cells above have said that the page lacks: it is said once. */
  constructor(element, about, page) {
    Object.assign(this, { element, about, page, name: element.id, number: Number(element.id.split("-")[1]) + 1 });
    this.text = about.source ?? element.querySelector("pre").textContent.replace(/\n+$/, "");
    this.input = element.querySelector(":scope > details, :scope > .cell_input");
    if (!this.input) return; // the page does not show its code
    if (page.lacking.has(about.lacks)) return; // a cell above says why
    this.note = make("span", { className: "live-note" }, ...coded(about.lacks ?? ""));
    this.row = make("div", { className: "live-try" }, this.note);
    this.input.after(this.row);
    if (about.lacks) return void page.lacking.add(about.lacks);
    this.button = make("button", { type: "button", "aria-label": `Try it: cell ${this.number}` }, "Try it");
    this.button.addEventListener("click", () => this.open().editor.field.focus());
    this.row.append(this.button);
    if (changedTo(config.chapter, this.text).source !== undefined) this.open();
  }

  /** What stands in the cell now. */
  get source() {
    return this.trial ? this.trial.editor.source : this.text;
  }

  open() {
    this.trial ??= new Trial(this);
    this.showOpen(true);
    return this.trial;
  }

  close() {
    this.showOpen(false);
    this.button.focus();
  }

  showOpen(yes) {
    this.trial.box.hidden = !yes;
    for (const each of [this.input, this.row]) each.classList.toggle("live-replaced", yes);
    this.trial.bar.append(...(yes ? [this.note] : []));
    if (!yes) this.row.prepend(this.note);
  }

  /** Say for which exercises it waits. */
  show() {
    if (this.button) this.note.replaceChildren(...unsolved(this.about.rests ?? [], this.page.exercises));
  }
}

class Trial extends Cell {
  constructor(cell) {
    const { name, number, page, text } = cell;
    super({ label: `Cell ${number}, in Python`, group: `Cell ${number}`, id: `live-${name}`, help: page.helpTrying, run: "Run", source: text });
    Object.assign(this, { cell, state: changedTo(config.chapter, text) });
    this.editor.source = this.state.source ?? text;
    this.shut = make("button", { type: "button" }, "Close");
    this.shut.addEventListener("click", () => cell.close());
    this.told.before(this.shut);
    this.still = [...cell.element.querySelectorAll(".cell_output .output")].map((node) => ({ node, place: document.createComment("") }));
    this.figure = cell.element.querySelector(".cell_output figure");
    this.output = make("div", { className: "live-output cell_output" });
    this.drawn = make("div", { className: "output text_html" });
    cell.input.before(this.box);
    cell.row.after(this.output);
    if (this.state.source !== undefined) this.told.textContent = "You have changed this cell. What it says below is the book’s until you run it.";
    this.show();
  }

  keep() {
    const { source } = this.editor;
    this.state.source = source === this.cell.text ? undefined : source;
    rememberChange(config.chapter, this.cell.text, this.state);
    this.show();
  }

  changed() {
    this.told.textContent = "";
    this.keep();
    python.start().catch(() => {}); // said when one runs it
  }

  show() {
    const asInTheBook = this.state.source === undefined && !this.answeredNow;
    this.restart.hidden = asInTheBook;
    this.shut.hidden = !asInTheBook;
    this.back.hidden = this.state.aside === undefined || this.state.source !== undefined;
  }

  reset() {
    if (this.state.source !== undefined) this.state.aside = this.state.source;
    this.editor.source = this.cell.text;
    this.standStill();
    this.told.textContent = "The book’s cell is back.";
    this.keep();
    (this.back.hidden ? this.shut : this.back).focus();
  }

  bringBack() {
    this.editor.source = this.state.aside;
    delete this.state.aside;
    this.told.textContent = "";
    this.keep();
    this.editor.field.focus();
  }

  /** Run it beneath the cells above, as they are now. */
  ask() {
    const { page, about } = this.cell;
    const cells = page.cells.slice(0, page.cells.indexOf(this.cell) + 1).map((each) => [each.name, each.editor?.source ?? each.source]);
    const rests = (about.rests ?? []).filter((name) => page.exercises.some((each) => each.name === name));
    const loading = () => { this.told.textContent = "Loading matplotlib, about 9 MB at the first time …"; };
    return python.run({ cells, rests, given: config.given, earlier: earlier() }, { tried: true, loading });
  }

  answered({ out, html, value, error, waits, broken }) {
    if (waits) {
      this.standStill();
      this.told.replaceChildren(...coded(waits));
      return this.show();
    }
    const parts = printed({ out, error });
    if (value) parts.push(make("pre", { tabIndex: 0, "aria-label": "The value of its last line" }, value));
    if (error && broken.some((name) => this.above(name)?.trial?.state.source !== undefined)) {
      parts.push(make("p", {}, "A cell above that you have changed does not run to its end."));
    }
    this.answerWith(parts, html);
    this.told.textContent = error ? error.split("\n").at(-1) : parts.length || html ? "Done." : "It ran to its end, and printed nothing.";
  }

  above(name) {
    return this.cell.page.cells.find((each) => each.name === name);
  }

  /** Show an answer, and a figure as HTML, in place of the output in the book. */
  answerWith(parts, html = "") {
    for (const { node, place } of this.still) if (node.parentNode) node.replaceWith(place);
    this.output.replaceChildren(...parts);
    this.drawn.innerHTML = html;
    if (this.figure) this.figure.prepend(this.drawn);
    else if (html) this.output.append(this.drawn);
    if (this.figure) this.figure.hidden = !html;
    this.answeredNow = true;
    this.show();
  }

  /** The output in the book is back. */
  standStill() {
    for (const { node, place } of this.still) if (place.parentNode) place.replaceWith(node);
    this.output.replaceChildren();
    this.drawn.remove();
    if (this.figure) this.figure.hidden = false;
    this.answeredNow = false;
  }
}
