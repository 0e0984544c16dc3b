/* The Python of a page, in its worker. */

import { address, config, here } from "./page_data.js";

export class Stopped extends Error {}

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
        else if (data.kind === "loading") this.loading(data.id);
        else if (data.id === undefined) reject(new Error(data.text));
        else this.answered(data);
      };
      const [assets, ...drivers] = ["pyodide/", "own_solutions.py", "exercise_run.py"].map((path) => new URL(path, here).href);
      this.worker.postMessage({ kind: "start", assets, drivers, bundle: address(config.bundle) });
    }).catch((error) => {
      this.end(error);
      throw error;
    });
    return this.started;
  }

  /** What a job comes to. With `tried` the job is a cell of the book; `loading` is called where it loads matplotlib. */
  async run(job, { tried = false, loading } = {}) {
    await this.start();
    this.hasTried ||= tried;
    const id = this.asked++;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, loading });
      this.worker.postMessage({ id, job, tried });
    });
  }

  loading(id) {
    this.hasDrawn = true;
    this.waiting.get(id).loading?.();
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

export const python = new Python();
