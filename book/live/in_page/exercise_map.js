/* Show which exercises pass in this browser, in the last column of the table of all exercises. */

"use strict";

(() => {
  const { exercises } = JSON.parse(document.getElementById("live-exercises").textContent);
  const rows = [...document.querySelectorAll("table.exercises tr:has(td)")];
  const cells = rows.map((row) => [row.querySelector("code").textContent, row.lastElementChild]);
  const line = document.querySelector(".live-progress");

  const passes = (name) => bookStorage.read(`exercise ${name}`).passing !== undefined;

  function show() {
    const passing = Object.keys(exercises).filter(passes);
    for (const [name, cell] of cells) {
      if (name in exercises) cell.textContent = passing.includes(name) ? "✓ passes" : "not yet";
    }
    line.textContent = `Passed in this browser: ${passing.length} of ${Object.keys(exercises).length} exercises.`;
  }

  bookStorage.onOtherTab(show);
  show();
})();
