/* The reader's answers as a notebook, to save and to load. */

import { make } from "./elements.js";
import { answersIn, filled } from "./notebook.js";
import { address, config } from "./page_data.js";

/** Returns a bar with buttons that save the answers as a notebook, and load them from one. */
export function answerButtons(exercises) {
  const status = make("span", { className: "live-status", role: "status" });
  const save = make("button", { type: "button" }, "Download my answers as a notebook");
  const file = make("input", { type: "file", accept: ".ipynb", className: "live-file", tabIndex: -1, "aria-hidden": "true" });
  const load = make("button", { type: "button" }, "Load answers from a notebook");
  save.addEventListener("click", async () => {
    const notebook = await (await fetch(address(config.notebook))).json();
    const sources = Object.fromEntries(exercises.map(({ name, editor }) => [name, editor.source]));
    const blob = new Blob([filled(notebook, sources)], { type: "application/x-ipynb+json" });
    const link = make("a", { href: URL.createObjectURL(blob), download: `${config.chapter}.ipynb` });
    link.click();
    URL.revokeObjectURL(link.href);
    status.textContent = `${config.chapter}.ipynb is in your downloads.`;
  });
  load.addEventListener("click", () => file.click());
  file.addEventListener("change", async () => {
    try {
      const answers = answersIn(await file.files[0].text(), exercises.map(({ name }) => name));
      // An unchanged stub in the notebook is not an answer.
      const loaded = exercises.filter(({ name, editor, source }) => ![undefined, source, editor.source].includes(answers[name]));
      for (const exercise of loaded) {
        if (exercise.editor.source !== exercise.source) exercise.state.aside = exercise.editor.source;
        exercise.replaceSource(answers[exercise.name]);
      }
      status.textContent = loaded.length
        ? `Loaded: ${loaded.map(({ name }) => name).join(", ")}.`
        : "This notebook has no other answers to the exercises of this page.";
    } catch {
      status.textContent = "This file is not a notebook.";
    }
    file.value = "";
  });
  return make("div", { className: "live-bar" }, save, load, file, status);
}
