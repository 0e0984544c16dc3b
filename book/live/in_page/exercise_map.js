/* Show which exercises pass in this browser, in a column of the table of all exercises. */

"use strict";

(() => {
  const { exercises } = JSON.parse(document.getElementById("live-exercises").textContent);
  const table = document.querySelector("table.exercises");

  function passes(name) {
    const { version, passing } = bookStorage.read(`exercise ${name}`);
    return version === exercises[name] && passing !== undefined;
  }

  /** Adds the column, and returns its cells by the name of the exercise. */
  function addColumn() {
    const heading = Object.assign(document.createElement("th"), { textContent: "state" });
    table.tHead.rows[0].append(heading);
    table.querySelectorAll("th[colspan]").forEach((chapter) => (chapter.colSpan += 1));
    const rows = [...table.querySelectorAll("tr:has(td)")];
    return new Map(rows.map((row) => [row.querySelector("code").textContent, row.insertCell()]));
  }

  function show() {
    const passing = Object.keys(exercises).filter(passes);
    for (const [name, cell] of cells) {
      cell.textContent = !(name in exercises) ? "needs PyTorch" : passing.includes(name) ? "✓ passes" : "not yet";
    }
    line.textContent = `Passed in this browser: ${passing.length} of ${Object.keys(exercises).length} exercises.`;
  }

  const cells = addColumn();
  const line = document.createElement("p");
  line.className = "live-progress";
  table.closest(".cell").before(line); // inside, the scrolling cell would cut it off
  bookStorage.onOtherTab(show);
  show();
})();
