/* What a reader has written and what passed, in this browser alone. Without storage (a private window, say) all of it
   works for as long as the page is open. */

const memory = new Map();
let kept = true;

const key = (name) => `exercise ${name}`;

/** What is known of an exercise: {version, source, passed, failed, aside}, or {} at the first visit. */
export function remembered(name) {
  try {
    return JSON.parse(localStorage.getItem(key(name))) ?? {};
  } catch {
    return memory.get(key(name)) ?? {};
  }
}

export function remember(name, state) {
  memory.set(key(name), state);
  try {
    localStorage.setItem(key(name), JSON.stringify(state));
  } catch {
    kept = false;
  }
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
