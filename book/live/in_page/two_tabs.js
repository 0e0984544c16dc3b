/* One exercise, or one given cell, in several tabs. A tab in which the reader has not written follows the others. The
   other tabs ask before they replace a text that they do not know, and set aside the text that the reader rejects. */

import { asking } from "./asking.js";
import { make } from "./elements.js";

export class Tabs {
  /** @param {Cell} cell whose `state.source` is its text, or undefined for the text of the book, which is `source`; its
          `version`, if it has one, says to which text of the book the state belongs
      @param {{read: Function, write: Function}} storage read() returns the stored state, and write(state) stores one */
  constructor(cell, storage) {
    Object.assign(this, { cell, storage });
    this.known = storage.read().source; // the text that this tab last read or stored
    this.hasWritten = false;
    this.otherText = make("pre", { tabIndex: 0, "aria-label": "The other text" });
  }

  /** Stores the state of the cell, or asks if another tab has stored a text that this tab does not know. */
  store() {
    const { version, state } = this.cell;
    const other = this.storage.read();
    this.hasWritten ||= state.source !== this.known;
    if (![this.known, state.source].includes(other.source)) return this.ask(other);
    this.write(other.version === version ? { ...other, ...state } : state);
  }

  /** Takes over what another tab has stored, or asks. */
  follow() {
    const { version, state } = this.cell;
    const other = this.storage.read();
    if (other.source === state.source) {
      if (other.version === version) this.cell.state = other;
      this.settle(other.source);
    } else if (this.hasWritten) this.store();
    else if (other.version === version || other.version === undefined) this.take(other);
    this.cell.show();
  }

  write(state) {
    this.cell.state = state;
    this.storage.write(state);
    this.settle(state.source);
  }

  settle(source) {
    this.known = source;
    this.question?.remove();
  }

  /** Shows the text of another tab. */
  take(other) {
    const { cell } = this;
    cell.state = { ...other, version: cell.version };
    cell.editor.source = other.source ?? cell.source;
    this.hasWritten = false;
    this.settle(other.source);
  }

  /** Asks which text counts. Until then the other tab's text stays stored, and this tab's text is set aside, because the
      reader may close the tab. */
  ask(other) {
    const { cell } = this;
    this.storage.write({ ...other, aside: cell.editor.source });
    this.otherText.textContent = other.source ?? cell.source;
    if (this.question?.isConnected) return;
    const words = "You have also changed this code in another tab. Which text do you want to keep? “Bring back what I wrote” shows the other one.";
    const fold = make("details", {}, make("summary", {}, "Show the text of the other tab"), this.otherText);
    this.question = asking([make("p", {}, words), fold], [["Keep mine", () => this.keepMine()], ["Take the other", () => this.takeOther()]]);
    cell.bar.before(this.question);
  }

  keepMine() {
    const { cell } = this;
    this.write({ ...cell.state, aside: this.storage.read().source });
    cell.show();
  }

  takeOther() {
    const { cell } = this;
    const mine = cell.editor.source;
    this.take(this.storage.read());
    this.write({ ...cell.state, aside: mine });
    cell.show();
  }
}
