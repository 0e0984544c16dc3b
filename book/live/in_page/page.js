/* Each exercise of a page becomes an editor that checks what is written in it, and every other cell can be tried. */

import { answers } from "./answers.js";
import { Exercise } from "./exercise.js";
import { Given } from "./given_cell.js";
import { linkSections, make } from "./elements.js";
import { config } from "./page_data.js";
import { isKept, onElsewhere, remembered } from "./storage.js";

const LEAVING = "Tab indents; press Escape, then Tab, to go on.";
const HELP = { help: `${LEAVING} Shift and Enter run the code and check it.`, helpTrying: `${LEAVING} Shift and Enter run the code.` };
const line = make("p", { className: "live-progress" });
const page = { help: "live-help", helpTrying: "live-help-trying", exercises: [], cells: [], lacking: new Set(), show };

function show() {
  const passing = page.exercises.filter((exercise) => exercise.passes).length;
  line.textContent = `${passing} of ${page.exercises.length} exercises pass.`;
  page.cells.forEach((cell) => cell instanceof Given && cell.show());
  if (!isKept()) line.textContent += " This browser keeps nothing that you write, so take it with you before you leave.";
}

function begin() {
  const fold = document.querySelector(".live-answers");
  fold.before(line);
  fold.append(answers(page.exercises));
  for (const [name, words] of Object.entries(HELP)) {
    document.querySelector("article").append(make("p", { id: page[name], hidden: true }, words));
  }
  for (const exercise of config.exercises) {
    const stub = document.getElementById(`stub-${exercise.name}`);
    if (stub) page.exercises.push(new Exercise(exercise, stub, page));
  }
  for (const cell of document.querySelectorAll("div.cell[id]")) {
    const [kind, name] = cell.id.split("-");
    const exercise = page.exercises.find(({ stub }) => stub === cell);
    if (exercise) page.cells.push(exercise);
    else if (kind === "cell") page.cells.push(new Given(cell, config.cells[name], page));
  }
  show();
  for (const name of config.elsewhere) {
    const words = "PyTorch does not run in a page: write this one in the chapter’s notebook.";
    document.getElementById(`stub-${name}`)?.after(make("p", { className: "live-told" }, words));
  }
  document.querySelectorAll(".live-says").forEach(linkSections);
  document.documentElement.classList.add("live-on");
  onElsewhere((name) => {
    const exercise = page.exercises.find((each) => each.name === name);
    if (!exercise || document.activeElement === exercise.editor.field) return;
    const state = remembered(name);
    if (state.version !== exercise.version) return;
    exercise.state = { failed: 0, ...state };
    exercise.editor.source = state.source ?? exercise.source;
    exercise.show();
  });
}

begin();
