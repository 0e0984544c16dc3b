/* Light up what an exercise builds on: under the mouse, on keyboard focus, or at the first tap of a finger. The second tap
   follows the link to the exercise. Escape switches the light off, and so does a tap elsewhere. */

"use strict";

(() => {
  const graph = document.querySelector(".exercise-graph");
  const links = new Map([...graph.querySelectorAll("a")].map((link) => [link.dataset.name, link]));
  const needs = (name) => links.get(name).dataset.needs.split(" ").filter(Boolean);
  const HINT = "Point at an exercise, or tap it, to highlight everything that it builds on.";

  /** Returns the exercise and all that it builds on, directly or through others. */
  function lit(name, found = new Set()) {
    if (!found.has(name)) {
      found.add(name);
      needs(name).forEach((needed) => lit(needed, found));
    }
    return found;
  }

  let shown = null;

  function show(name) {
    shown = name;
    const found = name ? lit(name) : new Set();
    graph.classList.toggle("lit", name !== null);
    for (const [other, link] of links) {
      link.classList.toggle("lit", found.has(other));
      link.classList.toggle("asked", other === name);
    }
    for (const line of graph.querySelectorAll("path")) line.classList.toggle("lit", found.has(line.dataset.to));
    const others = [...links.keys()].filter((other) => found.has(other) && other !== name);
    status.textContent = !name ? HINT : others.length ? `${name} builds on ${others.join(", ")}.`
      : `${name} builds on no other exercise.`;
  }

  const status = document.createElement("p");
  status.className = "exercise-graph-status";
  graph.before(status);

  for (const [name, link] of links) {
    let touched = false;
    link.addEventListener("pointerenter", (event) => { if (event.pointerType === "mouse") show(name); });
    link.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") show(null); });
    link.addEventListener("pointerdown", (event) => { touched = event.pointerType !== "mouse" && shown !== name; });
    link.addEventListener("focus", () => show(name));
    link.addEventListener("blur", () => show(null));
    link.addEventListener("click", (event) => {
      if (touched) event.preventDefault();
      if (touched) show(name);
      touched = false;
    });
  }
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") show(null); });
  document.addEventListener("pointerdown", (event) => { if (!event.target.closest(".exercise-graph a")) show(null); });
  show(null);
})();
