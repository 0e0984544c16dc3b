// Chapter 10: one stack invents words and pronounces them. The reader chooses a temperature and p.
"use strict";

(() => {
  const { element, statusLine, table, buttonRow, slider, start } = Explorers;
  const N_WORDS = 8;

  function explore(place) {
    const params = Model.read(Explorers.data(place));
    const temperature = slider("Temperature", { min: "0.1", max: "2", step: "0.1", value: "1" });
    const p = slider("Top-p", { min: "0.1", max: "1", step: "0.05", value: "0.9" });
    const [status, result] = [statusLine(), element("div")];
    let inventing = false;

    // Word by word, so that the page stays usable.
    async function invent() {
      if (inventing) return;
      inventing = true;
      const words = [];
      for (let n = 0; n < N_WORDS; n++) {
        status.textContent = `${n} of ${N_WORDS} texts`;
        await new Promise((resume) => setTimeout(resume));
        const word = Spelling.invented(params, p.input.valueAsNumber, temperature.input.valueAsNumber);
        if (word) words.push(word);
      }
      status.textContent = `${words.length} of ${N_WORDS} texts are a word with its sounds.`;
      result.replaceChildren(table("explorer-choices", ["word", "sounds"],
        words.map(([letters, sounds]) => [letters, element("td", {}, sounds)])));
      inventing = false;
    }

    const button = buttonRow("", { [`Invent ${N_WORDS} words`]: invent });
    return [element("div", { className: "explorer-controls" }, temperature.label, p.label, button, status), result];
  }

  start("inventor", explore);
})();
