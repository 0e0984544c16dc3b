/* Store what the reader writes and what passes, in this browser only. Without storage, as in some private windows, it is
   there until the page is closed. */

const memory = new Map();
let stored = true;

const exercise = (name) => `exercise ${name}`;
const cells = (chapter) => `cells ${chapter}`;

function read(key) {
  try {
    return JSON.parse(localStorage.getItem(key)) ?? {};
  } catch {
    return memory.get(key) ?? {};
  }
}

function write(key, state) {
  memory.set(key, state);
  try {
    localStorage.setItem(key, JSON.stringify(state));
  } catch {
    stored = false;
  }
}

/** Returns the state of an exercise, {version, source, passing, failed, aside}, or {} at the first visit. */
export const storedExercise = (name) => read(exercise(name));

export const storeExercise = (name, state) => write(exercise(name), state);

/** Returns the reader's change of a cell, {source, aside}, or {}. The key is the book's text, so that a change applies no
    longer when the book changes the cell. */
export const storedChange = (chapter, text) => read(cells(chapter))[text] ?? {};

export function storeChange(chapter, text, change) {
  const { [text]: before, ...others } = read(cells(chapter));
  const isChanged = change.source !== undefined || change.aside !== undefined;
  if (before || isChanged) write(cells(chapter), isChanged ? { ...others, [text]: change } : others);
}

/** Returns whether what the reader writes is there after the page is closed. */
export function isStored() {
  try {
    localStorage.getItem("exercise");
  } catch {
    stored = false;
  }
  return stored;
}

/** Calls `changed(name)` when another tab has stored an exercise. */
export function onOtherTab(changed) {
  addEventListener("storage", (event) => {
    if (event.key?.startsWith("exercise ")) changed(event.key.slice("exercise ".length));
  });
}
