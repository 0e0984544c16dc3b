/* The line that says which functions of earlier chapters an exercise or a cell uses, and lets the reader borrow them. */

import { availableSource, isBorrowed, isLent, setBorrowed } from "./borrowing.js";
import { make } from "./elements.js";
import { config } from "./page_data.js";

export class Uses {
  /** @param {string[]} names of functions
      @param {Function} changed called when the reader has borrowed a function or given it back */
  constructor(names, changed) {
    this.names = new Set(names);
    this.changed = changed;
    this.text = make("span");
    this.borrowButton = make("button", { type: "button" });
    this.giveBackButton = make("button", { type: "button" });
    this.borrowButton.addEventListener("click", () => this.set(this.missing, true));
    this.giveBackButton.addEventListener("click", () => this.set(this.borrowed, false));
    this.element = make("p", { className: "live-uses" }, this.text, this.borrowButton, this.giveBackButton);
    this.show();
  }

  /** Adds functions that the reader's code has called. */
  add(names) {
    names.forEach((name) => this.names.add(name));
    this.show();
  }

  /** The functions that the page lends and the reader neither has solved nor borrows. */
  get missing() {
    return this.functions.filter(({ name, version }) => isLent(name) && availableSource(name, version) === undefined);
  }

  get borrowed() {
    return this.functions.filter(({ name, version }) => inUse(name, version) === "borrowed");
  }

  /** The exercises among the names, with their chapters. */
  get functions() {
    return [...this.names].flatMap((name) => {
      const chapter = config.earlier.find(({ exercises }) => name in exercises);
      return chapter ? [{ name, chapter, version: chapter.exercises[name] }] : [];
    });
  }

  set(functions, borrowed) {
    for (const { name, version } of functions) setBorrowed(name, version, borrowed);
    this.changed();
    (borrowed ? this.giveBackButton : this.borrowButton).focus();
  }

  show() {
    const { functions, missing, borrowed } = this;
    const unavailable = [...this.names].filter((name) => !functions.some((known) => known.name === name) && !(name in config.helpers));
    const parts = functions.map(({ name, chapter, version }) => {
      const link = make("a", { href: `${chapter.chapter}.html#live-${name}` }, make("code", {}, name));
      return make("span", {}, link, ` (chapter ${chapter.number}: ${inUse(name, version)})`);
    });
    parts.push(...unavailable.map((name) => make("span", {}, make("code", {}, name), " (one of the book’s own, which this page does not have)")));
    this.text.replaceChildren("Uses ", ...parts.flatMap((part, i) => (i ? [", ", part] : [part])), ".");
    this.element.hidden = parts.length === 0;
    this.borrowButton.textContent = `Borrow ${named(missing)}`;
    this.borrowButton.hidden = missing.length === 0;
    this.giveBackButton.textContent = `Give back ${named(borrowed)}`;
    this.giveBackButton.hidden = borrowed.length === 0;
  }
}

const named = (functions) => (functions.length === 1 ? functions[0].name : `these ${functions.length}`);

function inUse(name, version) {
  if (isBorrowed(name, version) && availableSource(name, version)?.includes("solutions.lent.")) return "borrowed";
  return availableSource(name, version) === undefined ? "not solved yet" : "solved";
}
