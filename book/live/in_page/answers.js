/* A reader's answers as a notebook to take away, and back. */

import { make } from "./elements.js";
import { answersIn, filled } from "./notebook.js";
import { address, config } from "./page_data.js";

/** Buttons to take one's answers away, and to bring them along. */
export function answers(exercises) {
  const told = make("span", { className: "live-told", role: "status" });
  const save = make("button", { type: "button" }, "Download my answers as a notebook");
  const file = make("input", { type: "file", accept: ".ipynb", className: "live-file", tabIndex: -1, "aria-hidden": "true" });
  const read = make("button", { type: "button" }, "Read answers from a notebook");
  save.addEventListener("click", async () => {
    const notebook = await (await fetch(address(config.notebook))).json();
    const sources = Object.fromEntries(exercises.map(({ name, editor }) => [name, editor.source]));
    const blob = new Blob([filled(notebook, sources)], { type: "application/x-ipynb+json" });
    const link = make("a", { href: URL.createObjectURL(blob), download: `${config.chapter}.ipynb` });
    link.click();
    URL.revokeObjectURL(link.href);
    told.textContent = `${config.chapter}.ipynb is among your downloads.`;
  });
  read.addEventListener("click", () => file.click());
  file.addEventListener("change", async () => {
    try {
      const found = answersIn(await file.files[0].text(), exercises.map(({ name }) => name));
      // A stub in the notebook is no answer.
      const taken = exercises.filter(({ name, editor, source }) => ![undefined, source, editor.source].includes(found[name]));
      for (const exercise of taken) {
        if (exercise.editor.source !== exercise.source) exercise.state.aside = exercise.editor.source;
        exercise.take(found[exercise.name]);
      }
      told.textContent = taken.length
        ? `Read: ${taken.map(({ name }) => name).join(", ")}.`
        : "That notebook has no other answer to an exercise of this page.";
    } catch {
      told.textContent = "That file is no notebook.";
    }
    file.value = "";
  });
  const bar = make("div", { className: "live-bar" }, save, read, file, told);
  return bar;
}
