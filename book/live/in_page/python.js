/* The Python of a page, in its worker. */

import { lentFor } from "./borrowing.js";
import { address, config, here } from "./page_data.js";

export class Stopped extends Error {}

/** The one worker of the page. The first use starts it, and Stop ends it. */
class Python {
  constructor() {
    this.pending = new Map(); // number of a job -> functions that settle its promise
    this.count = 0;
  }

  /** Returns a promise that is fulfilled when Python runs. */
  start() {
    this.started ??= new Promise((resolve, reject) => {
      this.worker = new Worker(new URL("worker.js", here), { type: "module" });
      this.reject = reject;
      this.worker.onerror = (event) => reject(new Error(event.message || "its worker did not start"));
      this.worker.onmessage = ({ data }) => {
        if (data.kind === "ready") resolve();
        else if (data.kind === "loading") this.reportLoading(data.id);
        else if (data.id === undefined) reject(new Error(data.text));
        else this.settle(data);
      };
      const [assets, ...drivers] = ["pyodide/", "own_solutions.py", "exercise_run.py"].map((path) => new URL(path, here).href);
      this.worker.postMessage({ kind: "start", assets, drivers, bundle: address(config.bundle) });
    }).catch((error) => {
      this.end(error);
      throw error;
    });
    return this.started;
  }

  /** Returns a promise of the answer to a job.
      @param job as `exercise_run.run` takes it, or `cell_run.run`
      @param {{tried: boolean, loading: Function}} options tried: whether the job is a cell of the book; loading: called
      if the worker loads matplotlib. */
  async run(job, { tried = false, loading } = {}) {
    await this.start();
    this.hasTried ||= tried;
    const id = this.count++;
    return new Promise((resolve, reject) => {
      this.pending.set(id, { resolve, reject, loading });
      this.worker.postMessage({ id, job, tried, lent: lentFor(job) });
    });
  }

  reportLoading(id) {
    this.hasDrawn = true;
    this.pending.get(id).loading?.();
  }

  settle({ kind, id, answer, text }) {
    const { resolve, reject } = this.pending.get(id);
    this.pending.delete(id);
    if (kind === "done") return resolve(answer);
    reject(new Error(text));
    this.end(new Error(text));
  }

  end(error) {
    this.worker?.terminate();
    this.started = this.worker = undefined;
    this.reject?.(error);
    this.pending.forEach(({ reject }) => reject(error));
    this.pending.clear();
  }
}

export const python = new Python();
