/* An exercise of the page: an editor that checks the code in it. */

import { availableSource, importOf, isBorrowed, isLent } from "./borrowing.js";
import { Cell, printed } from "./cell.js";
import { Comparison } from "./comparison.js";
import { coded, linkSections, make } from "./elements.js";
import { openWhatWaitsFor } from "./opening.js";
import { config } from "./page_data.js";
import { python } from "./python.js";
import { offerToReport } from "./report.js";
import { storedExercise, storeExercise } from "./storage.js";
import { Tabs } from "./two_tabs.js";
import { unsolvedEarlier, wayOut } from "./unsolved.js";
import { Uses } from "./uses.js";

const PATIENCE = 3; // runs that fail before we offer a hint
const STUB_IS_BACK = "The stub is back.";

export class Exercise extends Cell {
  /** @param {{name: string, version: string, uses: string[]}} data
      @param {Element} stub its cell
      @param {{help: string, exercises: Exercise[], show: Function}} page */
  constructor({ name, version, uses }, stub, page) {
    const source = stub.querySelector("pre").textContent.replace(/\n+$/, "");
    super({ label: `Your ${name}, in Python`, group: `Exercise ${name}`, id: `live-${name}`, help: page.help, run: "Run & check", source });
    Object.assign(this, { name, version, stub, source, page });
    const storage = { read: () => ({ failed: 0, ...storedExercise(name) }), write: (state) => storeExercise(name, state) };
    this.state = storage.read();
    const changed = this.state.version !== undefined && this.state.version !== version;
    if (changed && this.state.passing !== undefined) this.state = { ...this.state, version, failed: 0, unchecked: true };
    else if (this.state.version !== version) this.state = { version, failed: 0, aside: this.state.source };
    this.editor.source = this.state.source ?? source;
    this.tabs = new Tabs(this, storage);
    this.mark = make("span", { className: "live-mark" });
    this.status.before(this.mark);
    this.output = make("div", { className: "live-output cell_output" });
    this.hints = make("div", { className: "live-hints" });
    this.uses = new Uses(uses, () => this.showChoice());
    this.box.prepend(this.uses.element);
    this.comparison = new Comparison(name);
    this.box.append(this.output, this.comparison.element, this.hints);
    stub.after(this.box);
    stub.classList.add("live-replaced");
    document.getElementById(`check-${name}`)?.querySelector(".cell_input")?.classList.add("live-replaced");
    if (changed) this.status.textContent = "This exercise has changed since you wrote in it.";
    this.folds().forEach((fold) => fold.addEventListener("toggle", () => this.offerHelp()));
    this.show();
  }

  get passes() {
    return this.state.passing !== undefined && this.state.passing === this.editor.source;
  }

  /** Whether the reader borrows the book's function, because theirs does not pass. */
  get isBorrowed() {
    return !this.passes && isBorrowed(this.name, this.version);
  }

  /** The code that the cells below use. */
  get sourceInUse() {
    return this.isBorrowed ? importOf(this.name) : this.editor.source;
  }

  store() {
    this.state.source = this.editor.source === this.source ? undefined : this.editor.source;
    this.tabs.store();
    this.show();
  }

  changed() {
    if (this.status.textContent === STUB_IS_BACK) this.status.textContent = ""; // the reader may have undone the reset
    this.store();
    python.start().catch(() => {}); // the next run reports a failure
  }

  show() {
    const isStub = this.editor.source === this.source;
    const [sign, words] = this.passes ? ["✓", "passes"] : this.isBorrowed ? ["○", "borrowed"] : this.state.passing ? ["○", "passed before you changed it"] : ["○", "not passed yet"];
    this.mark.replaceChildren(make("span", { "aria-hidden": "true" }, sign), ` ${words}`);
    this.box.classList.toggle("live-passes", this.passes);
    this.offerToBringBack();
    this.resetButton.hidden = isStub;
    this.copyForPaper(!isStub);
    this.uses.show();
    this.comparison.offer(this.state.passing);
    this.openWhatWaits();
    this.page.show();
  }

  /** Opens once what waits for this exercise, so that the reader can fold it again. */
  openWhatWaits() {
    if (this.state.passing === undefined || this.hasOpened) return;
    openWhatWaitsFor(this.name);
    this.hasOpened = true;
  }

  /** Replaces the text in the editor, for example by that of a notebook. */
  replaceSource(source) {
    this.editor.source = source;
    this.store();
  }

  reset() {
    this.state.aside = this.editor.source;
    this.editor.source = this.source;
    this.showOutput([]);
    this.hints.replaceChildren();
    this.status.textContent = STUB_IS_BACK;
    this.store();
    this.bringBackButton.focus();
  }

  get above() {
    return this.page.exercises.slice(0, this.page.exercises.indexOf(this));
  }

  get sourcesAbove() {
    return [config.setup, ...this.above.map(({ sourceInUse }) => sourceInUse)];
  }

  /** Runs the exercises of the page down to this one, and checks this one. Earlier chapters supply those that pass, and
      those that are borrowed. */
  ask() {
    const cells = [...this.above.map(({ name, sourceInUse }) => [name, sourceInUse]), [this.name, this.editor.source]];
    return python.run({ name: this.name, cells, setup: config.setup, helpers: config.helpers, earlier: earlier() });
  }

  /** Silently checks a text that passed an earlier version of the exercise. Shows the answer if it does not pass now. */
  async checkAgain() {
    const source = this.editor.source;
    if (!this.state.unchecked || !this.passes) return;
    const answer = await this.ask();
    if (answer.waits.length || this.editor.source !== source) return;
    this.state.unchecked = undefined;
    if (!answer.passed) this.state.passing = undefined;
    if (answer.passed) this.status.textContent = "";
    else this.showAnswer(answer, source);
    this.store();
  }

  showOutput(parts) {
    this.output.replaceChildren(...parts);
  }

  showAnswer({ passed, nodes, headline, diagnosis, report, error, broken, out, skipped, waits }, source) {
    if (waits.length) return this.showWaiting(waits);
    const parts = [...printed({ out, error, skipped }), ...this.offerToClean(error)];
    if (nodes.length) {
      const verdict = make("div", { className: "output text_html" }, ...nodes);
      verdict.querySelectorAll("pre").forEach((inputs) => { inputs.tabIndex = 0; }); // the keyboard can scroll wide ones
      parts.push(verdict);
    }
    if (!passed && broken.length) {
      parts.push(make("p", {}, `Not available here, because their code above raises an error: ${broken.join(", ")}.`));
    }
    parts.push(...offerToReport({ name: this.name, report, message: `${headline}\n${diagnosis}`, source }));
    parts.forEach(linkSections);
    this.showOutput(parts);
    this.state.failed = passed ? 0 : this.state.failed + 1;
    if (passed) this.state.passing = source;
    if (passed) this.state.unchecked = undefined;
    const success = source === this.editor.source ? "All cases pass." : "All cases passed. You have changed the code since.";
    const said = headline.replace(/^✗ /, "") || error.split("\n").at(-1);
    if (passed) this.sayOnce([success]);
    else this.sayOnce(coded(said), coded(` ${diagnosis}`));
    this.store();
    this.offerHelp();
  }

  /** Shows on the whole page what the reader has just borrowed or given back. */
  showChoice() {
    this.showOutput([]);
    this.status.textContent = "";
    this.page.show();
  }

  /** Names all functions that the code needs and the reader has not solved. Such a run does not count as failed.
      called: those that the run has called. */
  showWaiting(called) {
    this.uses.add(called);
    const isEarlier = unsolvedEarlier(called).length > 0;
    const reasons = isEarlier ? unsolvedEarlier([...this.uses.names]) : [];
    if (!reasons.length) reasons.push("calls ", make("code", {}, called[0]), ", one of the book’s own functions, which this page does not have. Write it yourself");
    const orBorrow = called.some(isLent) ? ", or borrow it above" : "";
    const line = make("p", {}, "This exercise ", ...reasons, `${orBorrow}. Then run it again.`);
    if (isEarlier && !orBorrow) line.append(` ${wayOut([])}`);
    this.showOutput([line]);
    this.status.textContent = `Waits for ${called.join(", ")}.`;
    this.store();
  }

  /** After some runs that fail, offers the next hint, then the explanation, and then the index of mistakes. The
      explanation is hidden until the exercise passes or all hints are open. */
  offerHelp() {
    this.hints.replaceChildren();
    if (this.passes) this.offerNext();
    const stuck = this.state.failed >= PATIENCE;
    const next = this.folds().find((fold) => !fold.open);
    const explanation = this.folds().find((fold) => fold.matches(".explanation"));
    if (explanation) explanation.hidden = !explanation.open && !this.passes && !(stuck && next === explanation);
    if (!stuck) return;
    if (next) {
      const button = make("button", { type: "button" }, `Open ${next.querySelector("summary").textContent.trim()}`);
      button.addEventListener("click", () => {
        next.open = true;
        next.querySelector("summary").focus();
      });
      this.hints.append(make("p", {}, "Stuck? "), button);
    } else if (config.mistakes) {
      const link = make("a", { href: `${config.mistakes}#mistakes-of-${this.name.replaceAll("_", "-")}` });
      link.textContent = `common mistakes in ${this.name}, in words`;
      this.hints.append(make("p", {}, "Still stuck? Read ", link, "."));
    }
    if (isLent(this.name) && this.folds().every((fold) => fold.open || fold === explanation)) this.offerToBorrow();
  }

  offerNext() {
    const { exercises } = this.page;
    const next = exercises.slice(exercises.indexOf(this) + 1).find((exercise) => !exercise.passes);
    if (!next) return;
    const link = make("a", { href: `#live-${next.name}` }, make("code", {}, next.name));
    this.hints.append(make("p", {}, "Next exercise: ", link));
  }

  /** Lets the reader go on with the book's function. That does not make the exercise pass. */
  offerToBorrow() {
    const { isBorrowed: borrowed } = this;
    const button = make("button", { type: "button" }, borrowed ? `Give back ${this.name}` : `Borrow ${this.name} from the book`);
    button.addEventListener("click", () => {
      this.state.borrowed = !borrowed || undefined;
      this.store();
      this.offerHelp();
    });
    const words = borrowed ? "The exercises below use the book’s function. " : "Or go on without it, and come back later: ";
    if (!this.passes) this.hints.append(make("p", {}, words), button);
  }

  /** Returns the folds between the exercise's card and its stub: the hints, and last the explanation. */
  folds() {
    const folds = [];
    for (let element = this.stub.previousElementSibling; element?.matches("details"); element = element.previousElementSibling) {
      folds.unshift(element);
    }
    return folds;
  }
}

/** Returns the exercises of earlier chapters that pass or are borrowed, for the worker. */
export function earlier() {
  return config.earlier.map(({ number, setup, exercises }) => {
    const cells = Object.entries(exercises).map(([name, version]) => [name, availableSource(name, version)]);
    return { number, setup, names: Object.keys(exercises), cells: cells.filter(([, source]) => source !== undefined) };
  });
}
