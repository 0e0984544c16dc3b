/* Below an exercise that has passed, if the book lends it: the reader's function beside the book's. */

import { isLent } from "./borrowing.js";
import { make } from "./elements.js";
import { address, config } from "./page_data.js";
import { coloured } from "./textarea.js";

let sources; // a promise of the book's functions, name -> source; undefined until the reader opens a comparison

export class Comparison {
  constructor(name) {
    this.name = name;
    this.own = make("pre", { className: "highlight", tabIndex: 0, "aria-label": `Your ${name}` });
    this.lent = make("pre", { className: "highlight", tabIndex: 0, "aria-label": `The book’s ${name}` });
    const columns = make("div", {}, make("section", {}, "Yours", this.own), make("section", {}, "The book’s", this.lent));
    this.element = make("details", { className: "live-comparison" }, make("summary", {}, "Compare with the book’s"), columns);
    this.element.addEventListener("toggle", () => this.element.open && this.load());
  }

  /** Offers to compare the reader's text that passes. Without one there is no offer. */
  offer(passing) {
    this.element.hidden = passing === undefined || !isLent(this.name);
    this.own.replaceChildren(...coloured(passing ?? ""));
  }

  async load() {
    sources ??= fetch(address(config.lent.sources)).then((response) => response.json());
    try {
      this.lent.replaceChildren(...coloured((await sources)[this.name]));
    } catch (error) {
      sources = undefined; // try again when it is next opened
      this.lent.textContent = `It could not be loaded (${error.message}). Are you connected to the book’s server?`;
    }
  }
}
