/* The Python of a page, in its worker. */

import { lentFor } from "./borrowing.js";
import { address, config, here } from "./page_data.js";

export class Stopped extends Error {}
/** Python could not be loaded. */
export class NotLoaded extends Error {}

const PATIENCE = 30; // seconds that the worker waits for files while none of their bytes arrive
const PATIENCE_WITH_WORKER = 180; // seconds without a word from the worker, which has much to compute on a slow machine

/** The one worker of the page. The first use starts it, and Stop ends it. */
class Python {
  constructor() {
    this.pending = new Map(); // number of a job -> functions that settle its promise
    this.count = 0;
    this.ready = false;
    this.arrived = 0; // bytes that have been loaded for Python
    this.watchers = new Set(); // functions that are called with the share that has arrived
    this.showStep = undefined; // a function that is called with the step of the training that is running
  }

  /** Returns a promise that is fulfilled when Python runs. */
  start() {
    this.started ??= new Promise((resolve, reject) => {
      const worker = new Worker(new URL("worker.js", here), { type: "module" });
      const safeHtml = this.loadSafeHtml(); // arrives while Python does
      safeHtml.catch(() => {}); // reported when Python is ready
      this.worker = worker;
      this.reject = reject;
      this.worker.onerror = ({ message }) => this.fail(message);
      this.worker.onmessage = ({ data }) => {
        if (data.kind === "ready") safeHtml.then(() => this.worker === worker && this.isLoaded(resolve), reject);
        else if (data.kind === "arrived") this.show(data.bytes);
        else if (data.kind === "missing") this.end(new NotLoaded(data.text));
        else if (data.kind === "loading") this.reportLoading(data.id);
        else if (data.kind === "loaded") this.pending.get(data.id).loaded?.();
        else if (data.kind === "step") this.showStep?.(data.step);
        else if (data.id === undefined) reject(new NotLoaded(data.text));
        else this.settle(data);
      };
      const [assets, ...drivers] = ["pyodide/", "own_solutions.py", "exercise_run.py", "rest.py", "pyodide/rest.json", "steps.py"].map((path) => new URL(path, here).href);
      const cache = this.hasFailed ? "reload" : "default";
      const data = Object.fromEntries(Object.entries(config.data).map(([path, file]) => [path, address(file)]));
      this.worker.postMessage({ kind: "start", assets, data, drivers, cache, patience: PATIENCE, chapter: address(config.start) });
      this.arrived = 0;
      this.show(0);
    }).catch((error) => {
      this.end(error);
      throw error;
    });
    return this.started;
  }

  /** Shows that bytes have arrived, and gives up if the worker is silent afterwards. */
  show(bytes) {
    if (this.ready) return;
    this.arrived += bytes;
    this.watchers.forEach((watcher) => watcher(Math.min(1, this.arrived / config.bytes)));
    clearTimeout(this.timer);
    const silent = () => this.end(new NotLoaded(`it has not started within ${PATIENCE_WITH_WORKER} seconds`));
    this.timer = setTimeout(silent, PATIENCE_WITH_WORKER * 1000);
  }

  /** Loads what shows Python's HTML, which is as large as all other scripts of a page, and only needed with Python. */
  async loadSafeHtml() {
    this.safeHtml = await import("./safe_html.js").catch(({ message }) => { throw new NotLoaded(message); });
  }

  isLoaded(resolve) {
    clearTimeout(this.timer);
    this.ready = true;
    resolve();
  }

  /** Ends a worker that raised an error outside of a job, as one without memory does. It would never answer. */
  fail(message) {
    const reason = "worker.js: the connection to the server of the book failed";
    this.end(this.ready ? new Error(message || "its worker has failed") : new NotLoaded(message || reason));
  }

  /** Returns a promise of the answer to a job, with the `nodes` of its HTML.
      @param job as `exercise_run.run` takes it, or `cell_run.run`
      @param {{tried: boolean, loading: Function, loaded: Function}} options tried: whether the job is a cell of the
      book; loading, loaded: called before and after the worker loads matplotlib. */
  async run(job, { tried = false, loading, loaded } = {}) {
    await this.start();
    this.hasTried ||= tried;
    const id = this.count++;
    const lent = lentFor(job);
    this.hasBorrowed ||= lent !== undefined;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, loading, loaded });
      this.worker.postMessage({ id, job, tried, lent });
    });
  }

  reportLoading(id) {
    this.hasDrawn = true;
    this.pending.get(id).loading?.();
  }

  settle({ kind, id, answer, text }) {
    const { resolve, reject } = this.pending.get(id);
    this.pending.delete(id);
    if (kind === "done") return resolve({ ...answer, nodes: [...this.safeHtml.nodesOf(answer.html)] });
    reject(new Error(text));
    this.end(new Error(text));
  }

  end(error) {
    clearTimeout(this.timer);
    this.hasFailed = error instanceof NotLoaded;
    this.ready = false;
    this.worker?.terminate();
    this.started = this.worker = undefined;
    this.reject?.(error);
    this.pending.forEach(({ reject }) => reject(error));
    this.pending.clear();
  }
}

export const python = new Python();
