// Chapter 10: one stack invents words and pronounces them. The reader chooses a temperature and p.
"use strict";

(() => {
  const { element, formatted, statusLine, table, buttonRow, start } = Explorers;
  const [HEADS, BOS, EOS, LONGEST, N_WORDS] = [4, 1, 2, 26, 8];
  const LETTERS = "abcdefghijklmnopqrstuvwxyz";
  const SOUNDS = ("AA AE AH AO AW AY B CH D DH EH ER EY F G HH IH IY JH K L M N NG OW OY P R S SH T TH UH UW V W Y Z ZH"
  ).split(" ");
  const VOCABULARY = ["padding", "begin", "end", "mark", ...LETTERS, ...SOUNDS];

  function drawn(chances) {
    const goal = Math.random();
    let sum = 0;
    const token = chances.findIndex((chance) => (sum += chance) > goal);
    return token < 0 ? chances.indexOf(Math.max(...chances)) : token; // where rounding keeps the sum below the goal
  }

  // Letters and sounds of an invented word; null if the text is not letters, mark, sounds and end.
  function invented(params, p, temperature) {
    const tokens = [BOS];
    const inputs = Object.values(params.layers).map(() => []);
    while (tokens.length <= LONGEST && tokens.at(-1) !== EOS) {
      tokens.push(drawn(Model.topP(Model.stackStep(params, tokens, inputs, HEADS), p, temperature)));
    }
    const text = tokens.map((token) => VOCABULARY[token]).join(" ");
    const [, letters, sounds] = text.match(/^begin ((?:[a-z] )+)mark ((?:[A-Z]+ )+)end$/) ?? [];
    return letters ? [letters.replaceAll(" ", ""), sounds.trim()] : null;
  }

  function slider(name, properties) {
    const input = element("input", { type: "range", ...properties });
    const shown = element("output", {}, formatted(input.valueAsNumber));
    input.addEventListener("input", () => { shown.textContent = formatted(input.valueAsNumber); });
    return { input, label: element("label", {}, element("span", {}, name), input, shown) };
  }

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
        const word = invented(params, p.input.valueAsNumber, temperature.input.valueAsNumber);
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
