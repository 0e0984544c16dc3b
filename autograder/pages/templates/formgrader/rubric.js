// Turn a chapter's rubric into buttons, below the text that it is for.
//
// A rubric is a table with a row for each part of the text and a column for each level: "3 points", "2 points", and so
// on. A click adds a level to the comment, as a line, and a second click removes it. Only these lines are stored. The
// score is entered as soon as every part has a level, so that a half-read text stays open.
(() => {
  const pointsIn = (head) => /^([\d.]+) points?$/.exec(head.textContent.trim())?.[1];

  /** Return the points of each level; undefined for a table that is not a rubric. */
  function levelsOf(table) {
    const points = [...table.rows[0].cells].slice(1).map(pointsIn);
    return points.length && points.every(Boolean) ? points.map(Number) : undefined;
  }

  /** Return the Markdown of one of the table's cells. */
  function markdown(place) {
    const marks = {CODE: "`", EM: "*"};
    const marked = (node) => [marks[node.nodeName], node.textContent, marks[node.nodeName]].join("");
    return [...place.childNodes].map(marked).join("");
  }

  /** Set a field, and let nbgrader's script save it. */
  function enter(field, value) {
    field.value = value;
    for (const event of ["input", "change"]) field.dispatchEvent(new Event(event, {bubbles: true}));
  }

  function addButtons(table, levels, cell) {
    const [comment, score] = [cell.querySelector(".comment"), cell.querySelector(".score")];
    const lines = () => comment.value.split("\n");
    const parts = [...table.tBodies[0].rows].map(({cells: [name, ...cells]}) =>
      cells.map((place, i) => {
        const button = document.createElement("button");
        // nbgrader's script moves the focus between "tabbable" elements, when a reader presses Tab.
        Object.assign(button, {type: "button", className: "btn btn-default btn-sm tabbable", disabled: true});
        const line = `- ${name.textContent}, ${levels[i]} of ${Math.max(...levels)} points: ${markdown(place)}`;
        button.append(...place.childNodes);
        place.append(button);
        return {button, line, points: levels[i]};
      }));

    function total() {
      const chosen = parts.map((part) => part.find(({line}) => lines().includes(line)));
      return chosen.every(Boolean) ? chosen.reduce((sum, {points}) => sum + points, 0) : "";
    }

    function choose(part, {line}) {
      const [before, all] = [total(), lines()];
      const at = all.findIndex((other) => part.some((level) => level.line === other));
      if (at < 0) all.push(line);
      else all.splice(at, 1, ...(all[at] === line ? [] : [line]));
      enter(comment, all.join("\n").trim());
      if (total() !== before) enter(score, total());
    }

    for (const part of parts)
      for (const level of part) {
        level.button.addEventListener("click", () => choose(part, level));
        level.button.addEventListener("mousedown", (event) => event.preventDefault()); // a new focus scrolls the page
      }
    // nbgrader's script has loaded the comment, or has saved one.
    $(document).on("ajaxStop", () => {
      for (const {button, line} of parts.flat()) {
        button.disabled = false;
        button.setAttribute("aria-pressed", lines().includes(line));
      }
    });
    cell.querySelector(".panel-footer").prepend(table);
    table.classList.add("rubric");
  }

  // A table that a student wrote is not a rubric.
  for (const table of document.querySelectorAll(".released table")) {
    const levels = levelsOf(table);
    const cell = [...document.querySelectorAll(".nbgrader_cell:has(.score):has(.comment)")]
      .find((cell) => table.compareDocumentPosition(cell) & Node.DOCUMENT_POSITION_FOLLOWING);
    if (levels && cell) addButtons(table, levels, cell);
  }
})();
