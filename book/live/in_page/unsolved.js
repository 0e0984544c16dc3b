/* For which exercises a cell waits, in a line. */

import { passed } from "./exercise.js";
import { make } from "./elements.js";
import { config } from "./page_data.js";

const NAMED = 3; // at most; the first is what one can do something about

/** Nodes that say which of some exercises do not pass yet, with links to them; none if all pass. */
export function unsolved(names, exercises) {
  const missing = names.flatMap((name) => {
    const here = exercises.find((each) => each.name === name);
    if (here) return here.passes ? [] : [{ name, address: `#live-${name}`, where: "above" }];
    const theirs = config.earlier.find((chapter) => name in chapter.exercises);
    if (!theirs || passed(name, theirs.exercises[name]) !== undefined) return [];
    return [{ name, address: `${theirs.chapter}.html`, where: `in chapter ${theirs.number}` }];
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
