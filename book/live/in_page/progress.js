/* The page with the reader's progress in the whole book, from what this browser stores. */

import { asking } from "./asking.js";
import { make } from "./elements.js";
import { config } from "./page_data.js";
import { entriesIn, mergedWith, same, written } from "./progress_file.js";

const { bookStorage } = window;
const CHANGED = "passed, changed since"; // the exercise's page checks it again
const SIGNS = { passed: "✓", [CHANGED]: "✓", borrowed: "○", tried: "○", open: "·" };
const FILE = "transformer-by-hand-progress.json";

/** Returns "passed", CHANGED, "borrowed", "tried" or "open". */
function stateOf(name, version, isLent) {
  const state = bookStorage.read(`exercise ${name}`);
  if (state.passing !== undefined) return state.version === version && !state.unchecked ? "passed" : CHANGED;
  if (state.version !== version) return "open";
  if (state.borrowed && isLent) return "borrowed";
  return state.source !== undefined || state.failed ? "tried" : "open";
}

const many = (count, noun) => `${count} ${noun}${count === 1 ? "" : "s"}`;

/** Returns a duration in words, or "" if it is less than a minute. */
function inWords(seconds) {
  const minutes = Math.floor(seconds / 60);
  const parts = [[Math.floor(minutes / 60), "hour"], [minutes % 60, "minute"]].filter(([count]) => count);
  return parts.map(([count, unit]) => many(count, unit)).join(" and ");
}

/** Returns how many of some states there are, as in "2 of 6 exercises passed, 1 borrowed, 1 tried". */
function counted(states) {
  const count = (state) => states.filter((other) => other === state).length;
  const others = ["borrowed", "tried"].filter(count).map((state) => `, ${count(state)} ${state}`);
  return `${count("passed") + count(CHANGED)} of ${states.length} exercises passed${others.join("")}`;
}

function itemOf(name, state, page) {
  const sign = make("span", { role: "img", "aria-label": state, title: state }, SIGNS[state]);
  const words = [CHANGED, "tried", "borrowed"].includes(state) ? ` ${state}` : "";
  return make("li", {}, sign, " ", make("a", { href: `${page}#live-${name}` }, make("code", {}, name)), words);
}

/** Returns a chapter's part of the page, its states and how many of its questions are answered. */
function partOf({ chapter, number, title, time, exercises, elsewhere, questions, isLent }) {
  const page = `${chapter}.html`;
  const states = exercises.map(({ name, version }) => [name, stateOf(name, version, isLent)]);
  const answered = questions.filter((key) => bookStorage.read(key).answered).length;
  const spent = inWords(bookStorage.read(`time ${chapter}`).seconds ?? 0);
  const about = `About ${time} to read${spent ? `; the page was visible for ${spent}` : ""}. `;
  const asked = make("a", { href: `${page}#question-1` }, `${answered} of ${questions.length} questions answered`);
  const part = make("section", {},
    make("h2", {}, `${number}. `, make("a", { href: page }, title)),
    make("p", {}, `${about}${counted(states.map(([, state]) => state))}`, ...(questions.length ? [", ", asked] : []), "."),
    make("div", { className: "live-links" }, make("ol", {}, ...states.map(([name, state]) => itemOf(name, state, page)))));
  if (elsewhere.length) {
    const names = elsewhere.flatMap((name, i) => [i ? ", " : "", make("code", {}, name)]);
    part.append(make("p", { className: "live-note" }, "In the notebook, because they need PyTorch: ", ...names, "."));
  }
  return { part, states: states.map(([, state]) => state), answered };
}

function show() {
  const parts = config.chapters.map(partOf);
  const states = parts.flatMap((part) => part.states);
  const answered = parts.reduce((sum, part) => sum + part.answered, 0);
  const asked = config.chapters.reduce((sum, { questions }) => sum + questions.length, 0);
  total.textContent = `${counted(states)}. ${answered} of ${asked} questions answered.`;
  if (!bookStorage.isStored()) total.textContent += " This browser does not store what you do.";
  bar.value = states.filter((state) => state === "passed").length;
  bar.max = states.length;
  list.replaceChildren(...parts.map(({ part }) => part));
}

/** Says in one sentence what has happened. */
function say(sentence) {
  status.replaceChildren(sentence);
  show();
}

/** Asks below the buttons. The answer moves the focus back to them. */
function ask(words, answers) {
  const focused = answers.map(([label, act]) => [label, () => {
    buttons[0].focus();
    act();
  }]);
  status.replaceChildren(asking(words, focused));
}

function exportAll() {
  const link = make("a", { href: URL.createObjectURL(new Blob([written(bookStorage.all())], { type: "application/json" })), download: FILE });
  link.click();
  URL.revokeObjectURL(link.href);
  say(`${FILE} is in your downloads.`);
}

async function importFile() {
  const text = await file.files[0].text();
  file.value = "";
  let entries;
  try {
    entries = entriesIn(text);
  } catch {
    return say("This file does not contain progress in this book, or it is damaged. Nothing has changed.");
  }
  const changes = mergedWith(bookStorage.all(), entries);
  const conflicts = Object.entries(changes).filter(([, [mine, theirs]]) => !same(mine, theirs)).map(([key]) => key);
  if (!conflicts.length) return store(entries, () => false);
  const boxes = conflicts.map((key) => make("input", { type: "checkbox", name: key }));
  const rows = boxes.map((box) => make("li", {}, make("label", {}, box, " ", nameOf(box.name))));
  const words = "Both this browser and the file have work on the following. Tick what the file should replace. An exercise keeps the other text, and its button “Bring back what I wrote” shows it.";
  ask([make("p", {}, words), make("ul", {}, ...rows)], [
    ["Finish the import", () => store(entries, (key) => boxes.some((box) => box.name === key && box.checked))],
    ["Cancel", () => say("Nothing has changed.")],
  ]);
}

/** Returns a description of an entry for the reader. */
function nameOf(key) {
  const [kind, place] = key.split(" ");
  if (kind === "exercise") return `exercise ${place}`;
  const chapter = config.chapters.find(({ chapter: name }) => place.endsWith(name));
  return `${kind === "cells" ? "cells that you changed" : "a question in your own words"}, in ${chapter ? `chapter ${chapter.number}` : place}`;
}

/** Merges the entries of a file into what is stored now, which another tab may have changed since we asked. Stores nothing
    if the browser has no room. */
function store(entries, isTaken) {
  const before = bookStorage.all();
  const changes = mergedWith(before, entries);
  for (const [key, [mine, theirs]] of Object.entries(changes)) bookStorage.write(key, isTaken(key) ? theirs : mine);
  if (bookStorage.isStored()) return say(Object.keys(changes).length ? "The file is imported." : "This browser already has everything in the file.");
  for (const key of Object.keys(changes)) {
    if (key in before) bookStorage.write(key, before[key]);
    else bookStorage.remove(key);
  }
  say("This browser does not store anything, or has no room left. Nothing has changed.");
}

function clear() {
  const entries = bookStorage.all();
  ask([make("p", {}, `Delete everything that this browser stores for this book: ${summary(entries)}? Export it first if you may want it again.`)], [
    ["Delete everything", () => {
      Object.keys(entries).forEach((key) => bookStorage.remove(key));
      say("Everything has been deleted.");
    }],
    ["Keep it", () => say("Nothing has changed.")],
  ]);
}

function summary(entries) {
  const count = (kind) => Object.keys(entries).filter((key) => key.startsWith(`${kind} `)).length;
  return `your work on ${many(count("exercise"), "exercise")} and ${many(count("question"), "question")}, cells that you changed, and times`;
}

const total = make("p", { className: "live-total" });
const bar = make("progress", { "aria-label": "Exercises passed" });
const status = make("div", { className: "live-status", role: "status" });
const file = make("input", { type: "file", accept: ".json", className: "live-file", tabIndex: -1, "aria-hidden": "true" });
const list = make("div", { className: "live-chapters" });
const buttons = [["Export", exportAll], ["Import", () => file.click()], ["Print", () => print()], ["Clear", clear]].map(([label, act]) => {
  const button = make("button", { type: "button" }, label);
  button.addEventListener("click", act);
  return button;
});
file.addEventListener("change", importFile);
bookStorage.onOtherTab(show);
document.querySelector(".live-book").replaceChildren(total, bar, make("div", { className: "live-bar" }, ...buttons, file), status, list);
show();
document.documentElement.classList.add("live-on");
