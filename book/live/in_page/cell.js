/* An editor and its buttons: what an exercise and a cell that is tried have in common. One runs at a time. */

import { Editor } from "./editor.js";
import { keepForLater } from "./offline_copy.js";
import { make } from "./elements.js";
import { python, Stopped } from "./python.js";

const cells = new Set();
let running = null;

export class Cell {
  /** @param {{label: string, group: string, id: string, help: string, run: string, source: string}} options
      help: id of what describes the keys; run: what the button says. A cell has `changed`, `reset`, `bringBack`, `ask`,
      which runs it, `answered`, which takes what it comes to, and `answerWith`, which shows elements as the answer. */
  constructor({ label, group, id, help, run, source }) {
    this.editor = new Editor({ label, help, source, changed: () => this.changed(), run: () => this.run() });
    this.told = make("span", { className: "live-told", role: "status" });
    this.go = make("button", { type: "button", className: "live-run", "aria-keyshortcuts": "Shift+Enter" }, run);
    this.halt = make("button", { type: "button", hidden: true }, "Stop");
    this.restart = make("button", { type: "button" }, "Reset");
    this.back = make("button", { type: "button" }, "Bring back what I wrote");
    this.bar = make("div", { className: "live-bar" }, this.go, this.halt, this.restart, this.back, this.told);
    this.box = make("div", { className: "live", id, role: "group", "aria-label": group });
    this.box.append(this.editor.element, this.bar);
    this.go.addEventListener("click", () => this.run());
    this.halt.addEventListener("click", () => python.end(new Stopped()));
    this.restart.addEventListener("click", () => this.reset());
    this.back.addEventListener("click", () => this.bringBack());
    cells.add(this);
    this.go.setAttribute("aria-disabled", String(running !== null));
  }

  async run() {
    if (running) return;
    running = this;
    this.working(true);
    this.told.textContent = python.ready ? "Running …" : "Loading Python, about 10 MB at the first time …";
    try {
      await python.start();
      python.ready = true;
      this.told.textContent = "Running …";
      this.answered(await this.ask());
      keepForLater();
    } catch (error) {
      python.ready = false;
      this.failed(error);
    }
    running = null;
    this.working(false);
  }

  working(yes) {
    if (!yes && document.activeElement === this.halt) this.go.focus();
    this.halt.hidden = !yes;
    for (const { go } of cells) go.setAttribute("aria-disabled", String(yes));
  }

  failed(error) {
    const stopped = error instanceof Stopped;
    const words = stopped ? "Stopped. Python begins afresh with the next run." : `Python has stopped: ${error.message}`;
    this.answerWith([make("p", {}, words)]);
    this.told.textContent = stopped ? "Stopped." : "Python has stopped.";
  }
}

/** What code printed, and the reader's own part of a traceback. */
export function printed({ out, error }) {
  const parts = [];
  if (out) parts.push(make("pre", { tabIndex: 0, "aria-label": "What your code printed" }, out));
  if (error) parts.push(make("pre", { className: "live-error", tabIndex: 0, "aria-label": "The error" }, error));
  return parts;
}

