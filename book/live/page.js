/* Each exercise of a page becomes an editor that checks what is written in it. */

import { Editor } from "./editor.js";
import { isKept, onElsewhere, remember, remembered } from "./state.js";
import { answersIn, filled } from "./notebook.js";

const config = JSON.parse(document.getElementById("live-exercises").textContent);
const here = new URL(".", import.meta.url);
const address = (path) => new URL(path, document.baseURI).href;
const PATIENCE = 3; // runs that fail before a hint is offered
const HELP = "live-help";

/** An element with properties and children; properties that begin with "aria" or hold "-" are attributes. */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element && !name.includes("-")) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/* Python */

class Stopped extends Error {}

/** The one worker of the page: made at first use, gone after Stop, made again. */
class Python {
  constructor() {
    this.waiting = new Map();
    this.asked = 0;
  }

  /** A promise that is kept when Python runs. */
  start() {
    this.started ??= new Promise((resolve, reject) => {
      this.worker = new Worker(new URL("worker.js", here), { type: "module" });
      this.refuse = reject;
      this.worker.onerror = (event) => reject(new Error(event.message || "its worker did not start"));
      this.worker.onmessage = ({ data }) => {
        if (data.kind === "ready") resolve();
        else if (data.id === undefined) reject(new Error(data.text));
        else this.answered(data);
      };
      const [assets, ...drivers] = ["pyodide/", "own.py", "session.py"].map((path) => new URL(path, here).href);
      this.worker.postMessage({ kind: "start", assets, drivers, bundle: address(config.bundle) });
    }).catch((error) => {
      this.end(error);
      throw error;
    });
    return this.started;
  }

  async run(job) {
    await this.start();
    const id = this.asked++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, job });
    });
  }

  answered({ kind, id, answer, text }) {
    const { resolve, reject } = this.waiting.get(id);
    this.waiting.delete(id);
    if (kind === "done") return resolve(answer);
    reject(new Error(text));
    this.end(new Error(text));
  }

  end(error) {
    this.worker?.terminate();
    this.started = this.worker = undefined;
    this.refuse?.(error);
    this.waiting.forEach(({ reject }) => reject(error));
    this.waiting.clear();
  }
}

const python = new Python();
let running = null;

/* Exercises */

class Exercise {
  constructor({ name, version, section }, stub) {
    Object.assign(this, { name, version, stub, section });
    this.source = stub.querySelector("pre").textContent.replace(/\n+$/, "");
    this.state = { failed: 0, ...remembered(name) };
    if (this.state.version !== version) this.begin();
    this.editor = new Editor({
      label: `Your ${name}, in Python`,
      help: HELP,
      source: this.state.source ?? this.source,
      changed: () => this.changed(),
      run: () => this.run(),
    });
    this.mark = make("span", { className: "live-mark" });
    this.told = make("span", { className: "live-told", role: "status" });
    this.go = make("button", { type: "button", className: "live-run", "aria-keyshortcuts": "Shift+Enter" }, "Run & check");
    this.halt = make("button", { type: "button", hidden: true }, "Stop");
    this.restart = make("button", { type: "button" }, "Reset");
    this.back = make("button", { type: "button" }, "Bring back what I wrote");
    this.output = make("div", { className: "live-output cell_output" });
    this.further = make("div", { className: "live-further" });
    const bar = make("div", { className: "live-bar" }, this.go, this.halt, this.restart, this.back, this.mark, this.told);
    this.box = make("div", { className: "live", id: `live-${name}`, role: "group", "aria-label": `Exercise ${name}` });
    this.box.append(this.editor.element, bar, this.output, this.further);
    stub.after(this.box);
    stub.classList.add("live-replaced");
    document.getElementById(`check-${name}`)?.querySelector(".cell_input")?.classList.add("live-replaced");
    this.go.addEventListener("click", () => this.run());
    this.halt.addEventListener("click", () => python.end(new Stopped()));
    this.restart.addEventListener("click", () => this.reset());
    this.back.addEventListener("click", () => this.bringBack());
    if (this.put) this.told.textContent = this.put;
    this.show();
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
    progress();
  }

  /** Another text in the editor, as from another tab or a notebook. */
  take(source) {
    this.editor.source = source;
    this.keep();
  }

  reset() {
    this.state.aside = this.editor.source;
    this.editor.source = this.source;
    this.output.replaceChildren();
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

  async run() {
    if (running) return;
    running = this;
    this.working(true);
    this.told.textContent = python.ready ? "Running …" : "Loading Python, about 10 MB at the first time …";
    try {
      await python.start();
      python.ready = true;
      this.told.textContent = "Running …";
      this.answered(await python.run(this.job()));
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
    for (const { go } of exercises) go.setAttribute("aria-disabled", String(yes));
  }

  /** What the worker is to run: the cells of the page down to this one, and what passes of earlier chapters. */
  job() {
    const own = exercises.slice(0, exercises.indexOf(this) + 1);
    const earlier = config.earlier.map(({ number, setup, exercises: theirs }) => {
      const states = Object.entries(theirs).map(([name, version]) => [name, version, remembered(name)]);
      const passing = states.filter(([, version, state]) => state.version === version && state.passing !== undefined);
      return { number, setup, names: Object.keys(theirs), cells: passing.map(([name, , { passing: cell }]) => [name, cell]) };
    });
    const cells = own.map(({ name, editor }) => [name, editor.source]);
    return { name: this.name, cells, setup: config.setup, given: config.given, earlier };
  }

  answered({ passed, html, headline, error, broken, out }) {
    const parts = [];
    if (out) parts.push(make("pre", { tabIndex: 0, "aria-label": "What your code printed" }, out));
    if (error) parts.push(make("pre", { className: "live-error", tabIndex: 0, "aria-label": "The error" }, error));
    if (html) {
      const verdict = make("div", { className: "output text_html", innerHTML: html });
      verdict.querySelectorAll("pre").forEach((inputs) => { inputs.tabIndex = 0; }); // wide ones scroll
      parts.push(verdict);
    }
    if (!passed && broken.length) {
      parts.push(make("p", {}, `Above on this page, ${broken.join(", ")} cannot be run, and is not there for this one.`));
    }
    parts.forEach(linkSections);
    this.output.replaceChildren(...parts);
    this.state.failed = passed ? 0 : this.state.failed + 1;
    if (passed) this.state.passing = this.editor.source;
    this.told.textContent = passed ? "All cases hold." : headline.replace(/^✗ /, "") || error.split("\n").at(-1);
    this.keep();
    this.offer();
  }

  failed(error) {
    const words = error instanceof Stopped
      ? "Stopped. Python begins afresh with the next run."
      : `Python has stopped: ${error.message}`;
    this.output.replaceChildren(make("p", {}, words));
    this.told.textContent = error instanceof Stopped ? "Stopped." : "Python has stopped.";
  }

  /** After some runs that fail: the next hint, and when all are open, the mistakes that people make here. */
  offer() {
    this.further.replaceChildren();
    if (this.state.failed < PATIENCE) return;
    const hint = this.hints().find((each) => !each.open);
    if (hint) {
      const button = make("button", { type: "button" }, `Open ${hint.querySelector("summary").textContent.trim()}`);
      button.addEventListener("click", () => {
        hint.open = true;
        hint.querySelector("summary").focus();
        this.offer();
      });
      this.further.append(make("p", {}, "Stuck? "), button);
    } else if (config.mistakes) {
      const link = make("a", { href: `${config.mistakes}#mistakes-of-${this.name.replaceAll("_", "-")}` });
      link.textContent = `what goes wrong in ${this.name}, in words`;
      this.further.append(make("p", {}, "Stuck, with all hints open? Read ", link, "."));
    }
  }

  /** The folds between the exercise's card and its stub. */
  hints() {
    const found = [];
    for (let each = this.stub.previousElementSibling; each?.matches("details"); each = each.previousElementSibling) {
      found.unshift(each);
    }
    return found;
  }
}

/** Makes links of the titles of this page's sections, where a message quotes them. */
function linkSections(root) {
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const quoted = [];
  while (texts.nextNode()) quoted.push(texts.currentNode);
  for (const text of quoted) {
    if (text.parentElement.closest("a, pre, code")) continue;
    for (const [title, id] of Object.entries(config.sections)) {
      const at = ["“", "'", "‘"].map((mark) => text.data.indexOf(mark + title)).find((place) => place >= 0);
      if (at === undefined) continue;
      const rest = text.splitText(at + 1);
      rest.splitText(title.length);
      rest.replaceWith(make("a", { href: `#${id}` }, title));
      break;
    }
  }
}

/* The page */

const exercises = [];
const line = make("p", { className: "live-progress" });

function progress() {
  const passing = exercises.filter((exercise) => exercise.passes).length;
  line.textContent = `${passing} of ${exercises.length} exercises pass.`;
  if (!isKept()) line.textContent += " This browser keeps nothing that you write, so take it with you before you leave.";
}

/** Buttons to take one's answers away, and to bring them along. */
function answers() {
  const told = make("span", { className: "live-told", role: "status" });
  const save = make("button", { type: "button" }, "Download my answers as a notebook");
  const file = make("input", { type: "file", accept: ".ipynb", className: "live-file", tabIndex: -1, "aria-hidden": "true" });
  const read = make("button", { type: "button" }, "Read answers from a notebook");
  save.addEventListener("click", async () => {
    const notebook = await (await fetch(address(config.notebook))).json();
    const sources = Object.fromEntries(exercises.map(({ name, editor }) => [name, editor.source]));
    const blob = new Blob([filled(notebook, sources)], { type: "application/x-ipynb+json" });
    const link = make("a", { href: URL.createObjectURL(blob), download: `${config.chapter}.ipynb` });
    link.click();
    URL.revokeObjectURL(link.href);
    told.textContent = `${config.chapter}.ipynb is among your downloads.`;
  });
  read.addEventListener("click", () => file.click());
  file.addEventListener("change", async () => {
    try {
      const found = answersIn(await file.files[0].text(), exercises.map(({ name }) => name));
      // A stub in the notebook is no answer.
      const taken = exercises.filter(({ name, editor, source }) => ![undefined, source, editor.source].includes(found[name]));
      for (const exercise of taken) {
        if (exercise.editor.source !== exercise.source) exercise.state.aside = exercise.editor.source;
        exercise.take(found[exercise.name]);
      }
      told.textContent = taken.length
        ? `Read: ${taken.map(({ name }) => name).join(", ")}.`
        : "That notebook has no other answer to an exercise of this page.";
    } catch {
      told.textContent = "That file is no notebook.";
    }
    file.value = "";
  });
  const bar = make("div", { className: "live-bar" }, save, read, file, told);
  return bar;
}

/** From the first use on, a service worker keeps what a visited page needs, so that it works without a network. */
async function keepForLater() {
  if (!navigator.serviceWorker || keepForLater.done) return;
  keepForLater.done = true;
  try {
    await navigator.serviceWorker.register(address(`${config.root}live-offline.js`));
    const { active } = await navigator.serviceWorker.ready;
    const loaded = performance.getEntriesByType("resource").map(({ name }) => name.split("#")[0]);
    const own = ["worker.js", "own.py", "session.py", ...config.python.map((name) => `pyodide/${name}`)];
    const scripts = own.map((path) => new URL(path, here).href);
    const page = [location.href.split("#")[0], address(config.bundle), address(config.notebook)];
    const addresses = [...new Set([...page, ...scripts, ...loaded])];
    active.postMessage({ addresses, folder: here.pathname.split("/").at(-2) });
  } catch {
    // Some private windows allow none; the page works all the same.
  }
}

function begin() {
  const fold = document.querySelector(".live-answers");
  fold.before(line);
  fold.append(answers());
  document.querySelector("article").append(make("p", { id: HELP, hidden: true }, "Tab indents; press Escape, then Tab, to go on. Shift and Enter run the code and check it."));
  for (const exercise of config.exercises) {
    const stub = document.getElementById(`stub-${exercise.name}`);
    if (stub) exercises.push(new Exercise(exercise, stub));
  }
  progress();
  for (const name of config.elsewhere) {
    const words = "PyTorch does not run in a page: write this one in the chapter’s notebook.";
    document.getElementById(`stub-${name}`)?.after(make("p", { className: "live-told" }, words));
  }
  document.querySelectorAll(".live-says").forEach(linkSections);
  document.documentElement.classList.add("live-on");
  onElsewhere((name) => {
    const exercise = exercises.find((each) => each.name === name);
    if (!exercise || document.activeElement === exercise.editor.field) return;
    const state = remembered(name);
    if (state.version !== exercise.version) return;
    exercise.state = { failed: 0, ...state };
    exercise.editor.source = state.source ?? exercise.source;
    exercise.show();
  });
}

begin();
