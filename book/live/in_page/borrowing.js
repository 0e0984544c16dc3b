/* Functions of the book's that the reader borrows. Which chapters the book lends is its publisher's choice. */

import { address, config } from "./page_data.js";
import { storedExercise, storeExercise } from "./storage.js";

/** Returns whether this book lends its function for an exercise. */
export const isLent = (name) => config.lent?.modules[name] !== undefined;

/** Returns whether the reader borrows the function of this version of an exercise. */
export function isBorrowed(name, version) {
  const state = storedExercise(name);
  return isLent(name) && state.version === version && state.borrowed === true;
}

/** Borrows the function of an exercise of another page, or gives it back. */
export function setBorrowed(name, version, borrowed) {
  const state = storedExercise(name);
  const current = state.version === version ? state : { ...state, version, failed: 0, source: undefined, aside: state.source };
  storeExercise(name, { ...current, borrowed: borrowed || undefined });
}

/** Returns the code that takes the place of the reader's. */
export const importOf = (name) => `from solutions.lent.${config.lent.modules[name]} import ${name}`;

/** Returns the text with which an exercise passes, or passed before the book changed it, or the import of the borrowed
    function; undefined if there is none. */
export function availableSource(name, version) {
  const { passing } = storedExercise(name);
  if (passing !== undefined) return passing;
  return isBorrowed(name, version) ? importOf(name) : undefined;
}

/** Returns the address of the functions that a job imports, or undefined if it borrows none. */
export function lentFor(job) {
  return config.lent && JSON.stringify(job).includes("solutions.lent.") ? address(config.lent.package) : undefined;
}
