/* Show beside a cell for how long it has been running, and the step of its training. */

import { make } from "./elements.js";

export class RunningTime {
  constructor() {
    this.element = make("span", { className: "live-time", role: "timer" }); // screen readers do not read each second aloud
  }

  start() {
    this.since = performance.now();
    this.step = undefined;
    this.interval = setInterval(() => this.show(), 1000);
  }

  stop() {
    clearInterval(this.interval);
    this.element.textContent = "";
  }

  show() {
    const seconds = Math.round((performance.now() - this.since) / 1000);
    const time = seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
    this.element.textContent = this.step === undefined ? time : `${time}, step ${this.step}`;
  }
}
