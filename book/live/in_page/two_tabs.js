/* One exercise in several tabs. A tab that has not been written in follows the others. A tab that has been written in
   asks before it replaces a text that it does not know, and sets the text aside that the reader does not choose. */

import { asking } from "./asking.js";
import { make } from "./elements.js";
import { storedExercise, storeExercise } from "./storage.js";

export class Tabs {
  /** @param {Exercise} exercise whose `state.source` is its text, or undefined for the stub */
  constructor(exercise) {
    this.exercise = exercise;
    this.known = storedExercise(exercise.name).source; // the text that this tab last read or stored
    this.hasWritten = false;
    this.otherText = make("pre", { tabIndex: 0, "aria-label": "The other text" });
  }

  /** Stores the state of the exercise, or asks if another tab has stored a text that this tab does not know. */
  store() {
    const { name, version, state } = this.exercise;
    const other = storedExercise(name);
    this.hasWritten ||= state.source !== this.known;
    if (![this.known, state.source].includes(other.source)) return this.ask(other);
    this.write(other.version === version ? { ...other, ...state } : state);
  }

  /** Takes over what another tab has stored, or asks. */
  follow() {
    const { name, version, state } = this.exercise;
    const other = storedExercise(name);
    if (other.source === state.source) {
      if (other.version === version) this.exercise.state = { failed: 0, ...other };
      this.settle(other.source);
    } else if (this.hasWritten) this.store();
    else if (other.version === version || other.version === undefined) this.take(other);
    this.exercise.show();
  }

  write(state) {
    this.exercise.state = state;
    storeExercise(this.exercise.name, state);
    this.settle(state.source);
  }

  settle(source) {
    this.known = source;
    this.question?.remove();
  }

  /** Shows the text of another tab. */
  take(other) {
    const { exercise } = this;
    exercise.state = { failed: 0, ...other, version: exercise.version };
    exercise.editor.source = other.source ?? exercise.source;
    this.hasWritten = false;
    this.settle(other.source);
  }

  /** Asks which text counts. Until then the other tab's text stays stored, and this tab's text is set aside, because the
      reader may close the tab. */
  ask(other) {
    const { exercise } = this;
    storeExercise(exercise.name, { ...other, aside: exercise.editor.source });
    this.otherText.textContent = other.source ?? exercise.source;
    if (this.question?.isConnected) return;
    const words = "You have changed this exercise in another tab, too. With which text do you want to go on? The other one stays behind “Bring back what I wrote”.";
    const fold = make("details", {}, make("summary", {}, "Show the text of the other tab"), this.otherText);
    this.question = asking([make("p", {}, words), fold], [["Keep mine", () => this.keepMine()], ["Take the other", () => this.takeOther()]]);
    exercise.bar.before(this.question);
  }

  keepMine() {
    const { exercise } = this;
    this.write({ ...exercise.state, aside: storedExercise(exercise.name).source });
    exercise.show();
  }

  takeOther() {
    const { exercise } = this;
    const mine = exercise.editor.source;
    this.take(storedExercise(exercise.name));
    this.write({ ...exercise.state, aside: mine });
    exercise.show();
  }
}
