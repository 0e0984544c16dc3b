/* Which exercises of earlier chapters are missing, and the line that says what an exercise or a cell waits for. */

import { availableSource, isLent } from "./borrowing.js";
import { make } from "./elements.js";
import { config } from "./page_data.js";

const NAMED = 3; // by a cell, at most: the reader begins with the first

/** Returns the exercises of earlier chapters to solve before these functions run, in the order of the book. */
export function missingEarlier(names) {
  const isMissing = (name, { exercises }) => name in exercises && availableSource(name, exercises[name]) === undefined;
  const wanted = new Set();
  for (const chapter of config.earlier) {
    for (const name of names.filter((candidate) => isMissing(candidate, chapter))) {
      [name, ...(chapter.needs[name] ?? [])].forEach((needed) => wanted.add(needed));
    }
  }
  return config.earlier.flatMap((chapter) => {
    const missing = Object.keys(chapter.exercises).filter((name) => wanted.has(name) && isMissing(name, chapter));
    return missing.map((name) => ({ name, address: `${chapter.chapter}.html#live-${name}`, where: `in chapter ${chapter.number}` }));
  });
}

const linkTo = ({ name, address }) => make("a", { href: address }, make("code", {}, name));
const listed = (missing) => missing.flatMap((exercise, i) => (i ? [", ", linkTo(exercise)] : [linkTo(exercise)]));

/** Returns nodes that say what to solve first, with links; none if nothing is missing. */
function waitsFor(missing, named = missing.length) {
  if (!missing.length) return [];
  const more = missing.length > named ? ` and ${missing.length - named} more` : "";
  const places = new Set(missing.map(({ where }) => where));
  const where = places.size === 1 ? [...places][0] : missing.length > named ? "first" : "first, in this order";
  return ["waits for ", ...listed(missing.slice(0, named)), `${more}: solve ${missing.length > 1 ? "them" : "it"} ${where}`];
}

/** Returns nodes that name some of the exercises that a cell waits for, of this page and of earlier chapters. */
export function unsolved(names, exercises) {
  const here = exercises.filter((exercise) => names.includes(exercise.name) && !exercise.passes && !exercise.isBorrowed);
  const above = here.map(({ name }) => ({ name, address: `#live-${name}`, where: "above" }));
  return waitsFor([...missingEarlier(names), ...above], NAMED);
}

/** Returns nodes that name everything that an exercise of the page waits for in earlier chapters. */
export const unsolvedEarlier = (names) => waitsFor(missingEarlier(names));

/** Returns the sentences on how to go on without solving these exercises. */
export function wayOut(names) {
  const borrow = names.some(isLent) ? "Each exercise below lets you borrow what it uses. " : "";
  return `${borrow}If you take a course, its notebook of this chapter brings the solutions of the earlier chapters.`;
}

/** Fills the fold at the top of the page: which exercises wait, and all that is missing. */
export function showWaiting(fold, exercises) {
  const waiting = exercises.filter((exercise) => !exercise.passes && missingEarlier([...exercise.uses.names]).length);
  const names = waiting.flatMap((exercise) => [...exercise.uses.names]);
  const missing = missingEarlier(names);
  fold.hidden = !waiting.length;
  fold.querySelector("summary").textContent = `${waiting.length} of ${exercises.length} exercises wait for functions of earlier chapters`;
  const here = waiting.map(({ name }) => ({ name, address: `#live-${name}` }));
  const chapters = [...new Set(missing.map(({ where }) => where))];
  const items = chapters.map((chapter) => make("li", {}, `${chapter}: `, ...listed(missing.filter(({ where }) => where === chapter))));
  fold.querySelectorAll(":scope > :not(summary)").forEach((part) => part.remove());
  fold.append(
    make("p", {}, ...listed(here), `. Solve the missing function${missing.length > 1 ? "s first, in this order" : " first"}:`),
    make("ul", {}, ...items),
    make("p", {}, wayOut(names)),
  );
}
