/* Open what the page keeps folded until an exercise passes. */

export function openWhatWaitsFor(name) {
  const waiting = `.opens-with-${name.replaceAll("_", "-")}`;
  for (const fold of document.querySelectorAll(`details${waiting}, ${waiting} > details`)) fold.open = true;
}
