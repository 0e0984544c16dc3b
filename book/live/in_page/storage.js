/* Store what the reader writes and what passes. See storage.js of the whole book. */

const { read, write, onOtherTab } = window.bookStorage;

const exercise = (name) => `exercise ${name}`;
const cells = (chapter) => `cells ${chapter}`;

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

export const { isStored } = window.bookStorage;

/** Calls `exerciseChanged(name)` when another tab has stored an exercise, and `cellsChanged()` when it has stored cells of
    this chapter. */
export function followOtherTabs(chapter, exerciseChanged, cellsChanged) {
  onOtherTab((keys) => {
    for (const key of keys) if (key.startsWith("exercise ")) exerciseChanged(key.slice("exercise ".length));
    if (keys.includes(cells(chapter))) cellsChanged();
  });
}
