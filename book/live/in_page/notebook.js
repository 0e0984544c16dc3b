/* Write the reader's answers into the chapter's notebook, and read them from it. */

const tags = (cell) => cell.metadata?.nbgrader ?? {};

/** Returns a text as a notebook stores it: a list of lines, each with its line break. */
const lines = (text) => text.split(/(?<=\n)/);

/** Returns the released notebook, as JSON, with the answers in the cells of their exercises. */
export function filled(notebook, sources) {
  for (const cell of notebook.cells) {
    const { solution, grade_id: name } = tags(cell);
    if (solution && sources[name] !== undefined) cell.source = lines(sources[name]);
  }
  return `${JSON.stringify(notebook, null, 1)}\n`;
}

/** Returns name -> answer for those of these exercises that a notebook contains. Throws SyntaxError if the text is not
    a notebook. */
export function answersIn(text, names) {
  const notebook = JSON.parse(text);
  if (!Array.isArray(notebook?.cells)) throw new SyntaxError("not a notebook");
  const answers = {};
  for (const cell of notebook.cells) {
    const { solution, grade_id: name } = tags(cell);
    if (solution && names.includes(name)) answers[name] = [cell.source].flat().join("").replace(/\n+$/, "");
  }
  return answers;
}
