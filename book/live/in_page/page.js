/* Turn each exercise of a page into an editor that checks its code, and let the reader try every other cell. */

import { answerButtons } from "./answers.js";
import { linkSections, make } from "./elements.js";
import { Exercise } from "./exercise.js";
import { GivenCell } from "./given_cell.js";
import { config } from "./page_data.js";
import { python } from "./python.js";
import { followOtherTabs, isStored } from "./storage.js";
import { showWaiting } from "./unsolved.js";
import { countVisibleTime } from "./visible_time.js";

const LEAVING = "Tab indents. To leave the editor, press Escape, then Tab.";
const HELP = { help: `${LEAVING} Shift and Enter run the code and check it.`, helpTrying: `${LEAVING} Shift and Enter run the code.` };
const line = document.querySelector(".live-progress") ?? make("p"); // the front page has none
const waiting = document.querySelector(".live-waiting"); // only where an exercise uses earlier chapters
const signs = document.querySelectorAll(".live-links li > span"); // in the order of config.exercises
const page = { help: "live-help", helpTrying: "live-help-trying", exercises: [], cells: [], reasons: new Set(), show };

function show() {
  const passing = page.exercises.filter((exercise) => exercise.passes).length;
  const borrowed = page.exercises.filter((exercise) => exercise.isBorrowed).length;
  line.textContent = `${passing} of ${page.exercises.length} exercises pass${borrowed ? `, ${borrowed} borrowed` : ""}.`;
  page.exercises.forEach(showSign);
  page.exercises.forEach((exercise) => exercise.uses.show());
  if (waiting) showWaiting(waiting, page.exercises);
  page.cells.forEach((cell) => cell instanceof GivenCell && cell.show());
  if (!isStored()) line.textContent += " This browser does not store what you write. Download your answers before you leave.";
}

/** Shows the state of an exercise in the list at the top of the page. */
function showSign({ passes, isBorrowed }, place) {
  const sign = signs[place];
  if (!sign) return; // on the front page
  const state = passes ? "passes" : isBorrowed ? "borrowed" : "not passed yet";
  sign.textContent = passes ? "✓" : "○";
  sign.title = state;
  sign.setAttribute("aria-label", state);
}

function begin() {
  const fold = document.querySelector(".live-answers"); // the front page has none
  fold?.append(answerButtons(page.exercises));
  for (const [name, words] of Object.entries(HELP)) {
    document.querySelector("article").append(make("p", { id: page[name], hidden: true }, words));
  }
  for (const exercise of config.exercises) {
    const stub = document.getElementById(`stub-${exercise.name}`);
    if (stub) page.exercises.push(new Exercise(exercise, stub, page));
  }
  for (const cell of document.querySelectorAll("div.cell[id]")) {
    const [kind, number] = cell.id.split("-");
    const exercise = page.exercises.find(({ stub }) => stub === cell);
    if (exercise) page.cells.push(exercise);
    else if (kind === "cell") page.cells.push(new GivenCell(cell, config.cells[number], page));
  }
  show();
  page.exercises.forEach((exercise) => exercise.offerHelp());
  for (const name of config.elsewhere) {
    const words = "PyTorch does not run in the browser. Write this exercise in the chapter’s notebook.";
    document.getElementById(`stub-${name}`)?.after(make("p", { className: "live-status" }, words));
  }
  document.querySelectorAll(".live-examples").forEach(linkSections);
  document.documentElement.classList.add("live-on");
  const followExercise = (name) => page.exercises.find((exercise) => exercise.name === name)?.tabs.follow();
  followOtherTabs(config.chapter, followExercise, () => page.cells.forEach((cell) => cell instanceof GivenCell && cell.follow()));
  if (config.chapter) countVisibleTime(config.chapter);
  if (!navigator.connection?.saveData) (fold ? loadPythonOnSight : loadPythonOnTouch)();
  if (location.hash.startsWith("#live-")) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}

/** Loads Python as soon as the reader sees an editor. */
function loadPythonOnSight() {
  const observer = new IntersectionObserver((entries) => {
    if (!entries.some(({ isIntersecting }) => isIntersecting)) return;
    observer.disconnect();
    loadPython();
  });
  page.exercises.forEach(({ box }) => observer.observe(box));
}

/** Loads Python as soon as the reader reaches for an editor, because every reader sees that of the front page. */
function loadPythonOnTouch() {
  for (const { box } of page.exercises) {
    for (const event of ["pointerenter", "focusin"]) box.addEventListener(event, loadPython, { once: true });
  }
}

async function loadPython() {
  try {
    await python.start();
    for (const exercise of page.exercises) await exercise.checkAgain();
  } catch {} // the first run reports a failure
}

begin();
