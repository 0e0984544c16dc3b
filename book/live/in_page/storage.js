/* What a reader has written and what passed, in this browser alone. Without storage (a private window, say) all of it
   works for as long as the page is open. */

const memory = new Map();
let kept = true;

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
    kept = false;
  }
}

/** What is known of an exercise: {version, source, passed, failed, aside}, or {} at the first visit. */
export const remembered = (name) => read(exercise(name));

export const remember = (name, state) => write(exercise(name), state);

/** What a reader made of a cell of a chapter, by the book's text of it: {source, aside}; a cell that the book has
    changed since is another one. */
export const changedTo = (chapter, text) => read(cells(chapter))[text] ?? {};

export function rememberChange(chapter, text, change) {
  const { [text]: before, ...others } = read(cells(chapter));
  const made = change.source !== undefined || change.aside !== undefined;
  if (before || made) write(cells(chapter), made ? { ...others, [text]: change } : others);
}

/** Whether what was written outlives the page. */
export function isKept() {
  try {
    localStorage.getItem("exercise");
  } catch {
    kept = false;
  }
  return kept;
}

/** Call `changed(name)` when another tab has written of an exercise. */
export function onElsewhere(changed) {
  addEventListener("storage", (event) => {
    if (event.key?.startsWith("exercise ")) changed(event.key.slice("exercise ".length));
  });
}
