/* The file with everything that the reader has done, and how it is merged into what a browser stores. */

const BOOK = "The Transformer by Hand";
const FORMAT = 1;

const isText = (value) => typeof value === "string";
const isTextOrNone = (value) => value === undefined || isText(value);
const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns one state with the values of both. Where both have a value, the first one counts. */
const united = (first, second) => ({ ...second, ...first });

/** Returns the states of an exercise or a cell for the two choices of the reader. The other text is set aside: of an
    exercise that passed and was reset, the text that passed. */
function chosenTexts(mine, theirs) {
  const isSameVersion = mine.version === theirs.version;
  const [mineAlone, theirsAlone] = isSameVersion ? [united(mine, theirs), united(theirs, mine)] : [mine, theirs];
  if (theirs.source === undefined) return [mineAlone, mineAlone];
  const ofMine = mine.source ?? (isSameVersion ? undefined : mine.passing);
  if (ofMine === undefined) return [theirsAlone, theirsAlone];
  if (mine.source !== theirs.source) return [{ ...mineAlone, aside: theirs.source }, { ...theirsAlone, aside: ofMine }];
  const passing = [mine, theirs].some((state) => state.passing === mine.source) ? mine.source : mineAlone.passing;
  const both = passing === undefined ? mineAlone : { ...mineAlone, passing };
  return [both, both];
}

/** For each kind of entry, the first word of its key: `check` says whether a value is valid, and `choices` returns the
    values to store if the reader keeps what is here, and if the reader takes what the file has. */
const KINDS = {
  exercise: {
    check: ({ version, source, passing, aside, failed }) =>
      isText(version) && [source, passing, aside].every(isTextOrNone) && Number.isInteger(failed ?? 0),
    choices: chosenTexts,
  },
  cells: {
    check: (cells) => Object.values(cells).every((cell) => isObject(cell) && isTextOrNone(cell.source) && isTextOrNone(cell.aside)),
    choices(mine, theirs) {
      const pairs = Object.keys(united(mine, theirs)).map((text) => [text, chosenTexts(mine[text] ?? {}, theirs[text] ?? {})]);
      return [0, 1].map((i) => Object.fromEntries(pairs.map(([text, choice]) => [text, choice[i]])));
    },
  },
  question: {
    check: ({ open, answered, words }) => Array.isArray(open) && open.every(Number.isInteger) && typeof answered === "boolean" && isTextOrNone(words),
    choices(mine, theirs) {
      const open = [...new Set([...(mine.open ?? []), ...theirs.open])].sort();
      const both = { open, answered: Boolean(mine.answered) || theirs.answered };
      return [mine.words || theirs.words, theirs.words || mine.words].map((words) => (words === undefined ? both : { ...both, words }));
    },
  },
  time: {
    check: ({ seconds }) => Number.isFinite(seconds) && seconds >= 0,
    choices(mine, theirs) {
      const both = { seconds: Math.max(mine.seconds ?? 0, theirs.seconds) };
      return [both, both];
    },
  },
};

const kindOf = (key) => (/^\w+ ./.test(key) ? KINDS[key.split(" ")[0]] : undefined);

/** Returns the text of the file with these entries, key -> value. */
export const written = (entries) => `${JSON.stringify({ book: BOOK, format: FORMAT, entries }, null, 1)}\n`;

/** Returns the entries of a file of progress. Throws SyntaxError for any other text. */
export function entriesIn(text) {
  const content = JSON.parse(text);
  const isOurs = isObject(content) && content.book === BOOK && content.format === FORMAT && isObject(content.entries);
  if (!isOurs) throw new SyntaxError("another file");
  for (const [key, value] of Object.entries(content.entries)) {
    if (!isObject(value) || !kindOf(key)?.check(value)) throw new SyntaxError(`wrong entry ${key}`);
  }
  return content.entries;
}

/** Returns key -> [the value if the reader keeps what is here, the value if the reader takes that of the file] for the
    entries of a file that change something. Where there is nothing to choose, both are equal. */
export function mergedWith(stored, entries) {
  const changes = {};
  for (const [key, theirs] of Object.entries(entries)) {
    const mine = stored[key] ?? {};
    const choices = kindOf(key).choices(mine, theirs);
    if (choices.some((value) => !same(value, mine))) changes[key] = choices;
  }
  return changes;
}

/** Returns whether two values are equal, in any order of their names. */
export function same(one, other) {
  const sorted = (value) => JSON.stringify(value, (_, part) => (isObject(part) ? Object.fromEntries(Object.entries(part).sort()) : part));
  return sorted(one) === sorted(other);
}
