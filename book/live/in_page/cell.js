/* An editor with its buttons, for an exercise and for a cell that the reader tries. One cell runs at a time. */

import { Editor } from "./editor.js";
import { make } from "./elements.js";
import { cacheForOffline } from "./offline_copy.js";
import { cleaned } from "./pasted.js";
import { config } from "./page_data.js";
import { NotLoaded, python, Stopped } from "./python.js";
import { RunningTime } from "./running_time.js";

const SAID = 7000; // milliseconds after which a screen reader has read a status aloud
const MEGABYTES = Math.ceil(config.bytes / 1e6);

export const cells = new Set();
let running = null;

export class Cell {
  /** A subclass has `sourcesAbove`, the sources that run before its own, `state` with the texts `source` and `aside`, and
      the methods `changed`, `reset`, `store` (stores the state with the editor's text), `ask` (runs the cell and returns
      a promise of the answer), `showAnswer` (takes the answer, and the source that ran) and `showOutput` (shows elements
      as the output).
      @param {{label: string, group: string, id: string, help: string, run: string, source: string}} options
      help: id of the element that describes the keys; run: label of the button that runs the cell. */
  constructor({ label, group, id, help, run, source }) {
    const scope = () => this.sourcesAbove;
    this.editor = new Editor({ label, help, source, scope, changed: () => this.changed(), run: () => this.run() });
    this.status = make("span", { className: "live-status", role: "status" });
    this.time = new RunningTime();
    this.runButton = make("button", { type: "button", className: "live-run", "aria-keyshortcuts": "Shift+Enter" }, run);
    this.stopButton = make("button", { type: "button", hidden: true }, "Stop");
    this.resetButton = make("button", { type: "button" }, "Reset");
    this.bringBackButton = make("button", { type: "button" }, "Bring back what I wrote");
    const buttons = [this.runButton, this.stopButton, this.resetButton, this.bringBackButton];
    this.progress = make("progress", { max: 1, hidden: true, "aria-label": "Loading Python" });
    const keys = make("span", { className: "live-keys", "aria-hidden": "true" }, "Shift+Enter runs · Esc then Tab leaves"); // `help` says it too
    this.bar = make("div", { className: "live-bar" }, ...buttons, this.progress, this.status, this.time.element, keys);
    this.box = make("div", { className: "live", id, role: "group", "aria-label": group });
    this.onPaper = make("pre", { className: "live-on-paper" });
    this.box.append(this.editor.element, this.bar, this.onPaper);
    this.runButton.addEventListener("click", () => this.run());
    this.stopButton.addEventListener("click", () => python.end(new Stopped()));
    this.resetButton.addEventListener("click", () => this.reset());
    this.bringBackButton.addEventListener("click", () => this.bringBack());
    cells.add(this);
    this.runButton.setAttribute("aria-disabled", String(running !== null));
  }

  async run() {
    if (running) return;
    running = this;
    this.showRunning(true);
    this.editor.markError(null);
    const showProgress = (share) => { this.progress.value = share; };
    this.status.textContent = python.ready ? "Running …" : `Loading Python, ${MEGABYTES} MB the first time …`;
    this.progress.hidden = python.ready;
    python.watchers.add(showProgress);
    try {
      await python.start();
      this.progress.hidden = true;
      this.status.textContent = "Running …";
      this.time.start();
      python.showStep = (step) => { this.time.step = step; };
      const { source } = this.editor; // the reader may go on writing while it runs
      const answer = await this.ask();
      if (source === this.editor.source) this.editor.markError(answer.line);
      this.showAnswer(answer, source);
      cacheForOffline();
    } catch (error) {
      this.showFailure(error);
    }
    this.progress.hidden = true;
    python.watchers.delete(showProgress);
    this.time.stop();
    running = null;
    this.showRunning(false);
  }

  /** Returns a line with a button that cleans the text, if Python cannot read what was pasted. */
  offerToClean(error) {
    const text = cleaned(this.editor.source, error);
    if (!error.includes("SyntaxError") || text === this.editor.source) return [];
    const button = make("button", { type: "button" }, "Clean it and run again");
    button.addEventListener("click", () => {
      this.editor.source = text;
      this.store();
      this.editor.focus();
      this.run();
    });
    return [make("p", {}, "The code contains prompts, fences, or characters that only look like spaces or quotes, as after pasting. "), button];
  }

  offerToBringBack() {
    this.bringBackButton.hidden = [undefined, this.editor.source].includes(this.state.aside);
  }

  /** Brings back the text that was set aside, and sets aside what the reader wrote instead. */
  bringBack() {
    const { source, aside } = this.state;
    this.state.aside = source;
    this.editor.source = aside;
    this.status.textContent = "";
    this.store();
    this.editor.focus();
  }

  /** Copies the reader's text for a printed page, on which an editor would be cut off. Without a text of the reader's, the
      page prints the cell of the book. */
  copyForPaper(isOwn) {
    this.onPaper.textContent = isOwn ? this.editor.source : "";
    this.box.classList.toggle("live-printed", isOwn);
  }

  showRunning(isRunning) {
    if (!isRunning && document.activeElement === this.stopButton) this.runButton.focus();
    this.stopButton.hidden = !isRunning;
    this.output.classList.toggle("live-outdated", isRunning);
    for (const { runButton } of cells) runButton.setAttribute("aria-disabled", String(isRunning));
  }

  /** Shows in the status, and lets a screen reader say, what the output shows too. Readers who then move through the page
      find it only in the output. heard: what only the output shows. */
  sayOnce(shown, heard = []) {
    const words = make("span", {}, ...shown, make("span", { className: "visually-hidden" }, ...heard));
    this.status.replaceChildren(words);
    setTimeout(() => { words.ariaHidden = "true"; }, SAID);
  }

  showFailure(error) {
    if (error instanceof NotLoaded) return this.showNotLoaded(error);
    const stopped = error instanceof Stopped;
    const words = stopped ? "Stopped. The next run starts Python again." : `Python has stopped: ${error.message}`;
    this.showOutput([make("p", {}, words)]);
    this.sayOnce([stopped ? "Stopped." : "Python has stopped."]);
  }

  showNotLoaded(error) {
    const button = make("button", { type: "button" }, "Try again");
    button.addEventListener("click", () => {
      this.runButton.focus();
      this.run();
    });
    const reason = `Python could not be loaded (${error.message}). Are you connected to the book’s server?`;
    this.showOutput([make("p", {}, reason), button]);
    this.sayOnce(["Python could not be loaded."]);
  }
}

/** Returns elements with the commands that were skipped, with what code printed, and with the part of a traceback that shows the reader's code. */
export function printed({ out, error, skipped }) {
  const parts = [];
  if (skipped.length) parts.push(make("p", {}, "A page does not run notebook commands, and neither does the grader. Skipped: ", make("code", {}, skipped.join("; ")), "."));
  if (out) parts.push(make("pre", { tabIndex: 0, "aria-label": "What your code printed" }, out));
  if (error) parts.push(make("pre", { className: "live-error", tabIndex: 0, "aria-label": "The error" }, error));
  return parts;
}
