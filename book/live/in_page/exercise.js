/* An exercise of the page: an editor that checks what is written in it. */

import { Cell, printed } from "./cell.js";
import { linkSections, make } from "./elements.js";
import { config } from "./page_data.js";
import { python } from "./python.js";
import { remember, remembered } from "./storage.js";

const PATIENCE = 3; // runs that fail before a hint is offered

export class Exercise extends Cell {
  /** @param {{name: string, version: string}} about
      @param {Element} stub its cell
      @param {{help: string, exercises: Exercise[], show: Function}} page */
  constructor({ name, version }, stub, page) {
    const source = stub.querySelector("pre").textContent.replace(/\n+$/, "");
    super({ label: `Your ${name}, in Python`, group: `Exercise ${name}`, id: `live-${name}`, help: page.help, run: "Run & check", source });
    Object.assign(this, { name, version, stub, source, page });
    this.state = { failed: 0, ...remembered(name) };
    if (this.state.version !== version) this.begin();
    this.editor.source = this.state.source ?? source;
    this.mark = make("span", { className: "live-mark" });
    this.told.before(this.mark);
    this.output = make("div", { className: "live-output cell_output" });
    this.further = make("div", { className: "live-further" });
    this.box.append(this.output, this.further);
    stub.after(this.box);
    stub.classList.add("live-replaced");
    document.getElementById(`check-${name}`)?.querySelector(".cell_input")?.classList.add("live-replaced");
    if (this.put) this.told.textContent = this.put;
    this.folds().forEach((fold) => fold.addEventListener("toggle", () => this.offer()));
    this.show();
    this.offer();
  }

  get passes() {
    return this.state.passing !== undefined && this.state.passing === this.editor.source;
  }

  /** The exercise is another one than at the last visit: what was written is put aside. */
  begin() {
    const { version, source } = this.state;
    this.state = { version: this.version, failed: 0, aside: source };
    if (version) this.put = "This exercise has changed since you wrote in it.";
  }

  keep() {
    this.state.source = this.editor.source === this.source ? undefined : this.editor.source;
    remember(this.name, this.state);
    this.show();
  }

  changed() {
    this.keep();
    python.start().catch(() => {}); // said when one runs it
  }

  show() {
    const written = this.editor.source !== this.source;
    const [sign, words] = this.passes ? ["✓", "passes"] : this.state.passing ? ["○", "passed before you changed it"] : ["○", "not passed yet"];
    this.mark.replaceChildren(make("span", { "aria-hidden": "true" }, sign), ` ${words}`);
    this.box.classList.toggle("live-passes", this.passes);
    this.back.hidden = this.state.aside === undefined || written;
    this.restart.hidden = !written;
    this.page.show();
  }

  /** Another text in the editor, as from another tab or a notebook. */
  take(source) {
    this.editor.source = source;
    this.keep();
  }

  reset() {
    this.state.aside = this.editor.source;
    this.editor.source = this.source;
    this.answerWith([]);
    this.further.replaceChildren();
    this.told.textContent = "The stub is back.";
    this.keep();
    this.back.focus();
  }

  bringBack() {
    const { aside } = this.state;
    delete this.state.aside;
    this.told.textContent = "";
    this.take(aside);
    this.editor.field.focus();
  }

  /** Run the cells of the page down to this one, with what passes of earlier chapters, and check it. */
  ask() {
    const own = this.page.exercises.slice(0, this.page.exercises.indexOf(this) + 1);
    const cells = own.map(({ name, editor }) => [name, editor.source]);
    return python.run({ name: this.name, cells, setup: config.setup, given: config.given, earlier: earlier() });
  }

  answerWith(parts) {
    this.output.replaceChildren(...parts);
  }

  answered({ passed, html, headline, error, broken, out }) {
    const parts = printed({ out, error });
    if (html) {
      const verdict = make("div", { className: "output text_html", innerHTML: html });
      verdict.querySelectorAll("pre").forEach((inputs) => { inputs.tabIndex = 0; }); // wide ones scroll
      parts.push(verdict);
    }
    if (!passed && broken.length) {
      parts.push(make("p", {}, `Above on this page, ${broken.join(", ")} cannot be run, and is not there for this one.`));
    }
    parts.forEach(linkSections);
    this.answerWith(parts);
    this.state.failed = passed ? 0 : this.state.failed + 1;
    if (passed) this.state.passing = this.editor.source;
    this.told.textContent = passed ? "All cases hold." : headline.replace(/^✗ /, "") || error.split("\n").at(-1);
    this.keep();
    this.offer();
  }

  /** After some runs that fail: the next hint; when all are open, the explanation, which is not there before; at the
      end the mistakes that people make here. */
  offer() {
    this.further.replaceChildren();
    const stuck = this.state.failed >= PATIENCE;
    const fold = this.folds().find((each) => !each.open);
    const explanation = this.folds().find((each) => each.matches(".explanation"));
    if (explanation) explanation.hidden = !explanation.open && !this.passes && !(stuck && fold === explanation);
    if (!stuck) return;
    if (fold) {
      const button = make("button", { type: "button" }, `Open ${fold.querySelector("summary").textContent.trim()}`);
      button.addEventListener("click", () => {
        fold.open = true;
        fold.querySelector("summary").focus();
      });
      this.further.append(make("p", {}, "Stuck? "), button);
    } else if (config.mistakes) {
      const link = make("a", { href: `${config.mistakes}#mistakes-of-${this.name.replaceAll("_", "-")}` });
      link.textContent = `what goes wrong in ${this.name}, in words`;
      this.further.append(make("p", {}, "Still stuck? Read ", link, "."));
    }
  }

  /** The folds between the exercise's card and its stub: hints, and at last the explanation. */
  folds() {
    const found = [];
    for (let each = this.stub.previousElementSibling; each?.matches("details"); each = each.previousElementSibling) {
      found.unshift(each);
    }
    return found;
  }
}

/** The text with which an exercise of an earlier chapter passes; undefined if it does not. */
export const passed = (name, version) => {
  const state = remembered(name);
  return state.version === version ? state.passing : undefined;
};

/** What passes of earlier chapters, for the worker. */
export function earlier() {
  return config.earlier.map(({ number, setup, exercises }) => {
    const cells = Object.entries(exercises).map(([name, version]) => [name, passed(name, version)]);
    return { number, setup, names: Object.keys(exercises), cells: cells.filter(([, cell]) => cell !== undefined) };
  });
}
