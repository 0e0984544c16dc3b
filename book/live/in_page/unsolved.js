/* Show in a line which exercises a cell waits for. */

import { availableSource } from "./borrowing.js";
import { make } from "./elements.js";
import { config } from "./page_data.js";

const NAMED = 3; // at most: the reader begins with the first

/** Returns nodes that name the exercises that do not pass yet, with links to them; none if all pass. */
export function unsolved(names, exercises) {
  const missing = names.flatMap((name) => {
    const exercise = exercises.find((candidate) => candidate.name === name);
    if (exercise) return exercise.passes || exercise.isBorrowed ? [] : [{ name, address: `#live-${name}`, where: "above" }];
    const earlier = config.earlier.find((chapter) => name in chapter.exercises);
    if (!earlier || availableSource(name, earlier.exercises[name]) !== undefined) return [];
    return [{ name, address: `${earlier.chapter}.html#live-${name}`, where: `in chapter ${earlier.number}` }];
  });
  if (!missing.length) return [];
  const links = missing.slice(0, NAMED).flatMap(({ name, address }, i) => {
    const link = make("a", { href: address }, make("code", {}, name));
    return i ? [", ", link] : [link];
  });
  const more = missing.length > NAMED ? ` and ${missing.length - NAMED} more` : "";
  const places = new Set(missing.map(({ where }) => where));
  const where = places.size === 1 ? [...places][0] : "first";
  return ["waits for ", ...links, `${more}: solve ${missing.length > 1 ? "them" : "it"} ${where}`];
}
