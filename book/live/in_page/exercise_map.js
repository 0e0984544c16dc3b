/* Mark the exercises that pass in this browser, on the page that lists all exercises. */

"use strict";

(() => {
  const { exercises } = JSON.parse(document.getElementById("live-exercises").textContent);

  function passes(name) {
    try {
      const { version, passing } = JSON.parse(localStorage.getItem(`exercise ${name}`)) ?? {};
      return version === exercises[name] && passing !== undefined;
    } catch {
      return false;
    }
  }

  function show() {
    const table = document.querySelector("table.exercises");
    table.querySelectorAll(".live-mark").forEach((mark) => mark.remove());
    const passing = [...table.querySelectorAll("td:first-child code")].filter((name) => passes(name.textContent));
    for (const name of passing) {
      const mark = document.createElement("span");
      mark.className = "live-mark";
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", "passes");
      mark.textContent = "\u00a0✓";
      name.closest("td").append(mark);
    }
    line.textContent = `Passed in this browser: ${passing.length} of ${Object.keys(exercises).length} exercises.`;
  }

  const line = document.createElement("p");
  line.className = "live-progress";
  document.querySelector("table.exercises").closest(".cell").before(line); // inside, the scrolling cell would cut it off
  addEventListener("storage", show);
  show();
})();
