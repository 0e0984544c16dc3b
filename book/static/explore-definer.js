// Chapter 12: the trained model defines a word that the reader types or that the stack of chapter 10 invents.
"use strict";

(() => {
  const { element, formatted, statusLine, table, shareBar, buttonRow, slider, start } = Explorers;
  const FIRST = "gloamer"; // as in the opening of the chapter
  const PARTS = { n: ["noun", "nouns"], v: ["verb", "verbs"], a: ["adjective", "adjectives"], r: ["adverb", "adverbs"] };
  const LONGEST = 40;
  const [SHORTEST_WORD, LONGEST_WORD] = [3, 12];

  const pause = () => new Promise((resume) => setTimeout(resume));
  const mean = (numbers) => numbers.reduce((a, b) => a + b, 0) / numbers.length;
  const losses = ({ tokens, scores }) => tokens.map((token, t) => -Math.log(Model.softmax(scores[t])[token]));

  function explore(place) {
    const { entries: { merges, others, shapes: ofReader }, stack: inventor, ...model } = Explorers.data(place);
    const nNumbers = Object.values(ofReader).map((shape) => shape.reduce((a, b) => a * b)).reduce((a, b) => a + b);
    const [ofBook, stack] = [Model.read(model), Model.read(inventor)];
    const { vocabulary, numbered } = Definer.tokeniser(merges);
    const visible = (token) => (token === Definer.END ? "end" : vocabulary[token].replace(" ", "·"));

    const word = element("input", { type: "text", value: FIRST, autocomplete: "off", spellcheck: false });
    const part = element("select", {}, ...Object.values(PARTS).map(([name]) => element("option", {}, name)));
    const temperature = slider("Temperature", { min: "0.1", max: "2", step: "0.1", value: "0.7" });
    const p = slider("Top-p", { min: "0.1", max: "1", step: "0.05", value: "0.9" });
    const file = element("input", { type: "file", accept: ".npz" });
    const back = element("button", { type: "button", hidden: true }, "The book’s weights");
    const [status, worth, aboutWeights] = [statusLine(), statusLine(), statusLine()];
    const result = element("div", { className: "explorer-scroll", tabIndex: 0 });
    result.setAttribute("role", "region");
    result.setAttribute("aria-label", "The definition, token by token");
    let [params, places] = [ofBook, []];
    let entry, sounds, beginning, written;

    const kind = () => Object.keys(PARTS)[part.selectedIndex];
    const readTo = (someWord) => Definer.begun(params, numbered(`${someWord} ${kind()}:`));

    // The loss of each token of the gloss after each of the other words, averaged over these words.
    async function compare() {
      const mine = written;
      const all = [];
      for (const other of others[kind()].filter((name) => name !== entry)) {
        await pause();
        if (written !== mine) return;
        all.push(losses(Definer.continued(params, readTo(other), mine.tokens.length, (_, t) => mine.tokens[t])));
      }
      const lost = mine.tokens.map((_, t) => mean(all.map((row) => row[t])));
      for (const [t, cell] of result.querySelectorAll("td:last-child").entries()) cell.textContent = formatted(Math.exp(-lost[t]));
      const [own, another] = [mean(losses(mine)), mean(lost)];
      worth.textContent = `Each token of the definition costs ${formatted(own)} nats after ${entry}, and ${formatted(another)} after `
        + `${all.length} other ${PARTS[kind()][1]}. So the word is worth ${formatted(another - own)} nats a token.`;
    }

    // Writes the definition with the same places in the distributions, so that a slider changes only what it decides.
    function write() {
      written = Definer.continued(params, beginning, LONGEST, (scores, n) => Spelling.drawn(
        Model.topP(scores, p.input.valueAsNumber, temperature.input.valueAsNumber), places[n] ??= Math.random()));
      const rows = written.tokens.map((token, t) => {
        const shares = Model.softmax(written.scores[t]);
        const other = Model.nextLikeliest(shares, token);
        return [visible(token), element("td", {}, formatted(shares[token])), shareBar(shares[token]),
          element("td", {}, `${visible(other)} ${formatted(shares[other])}`), element("td", {}, "…")];
      });
      const tokens = table("explorer-choices", ["token", "probability", "next likeliest", "after others"], rows);
      tokens.querySelector("th:nth-child(2)").colSpan = 2; // as a number, and as a bar
      result.replaceChildren(tokens);
      const gloss = written.tokens.filter((token) => token !== Definer.END).map((token) => vocabulary[token]).join("").trim();
      const end = written.tokens.at(-1) === Definer.END ? "" : " … and no end";
      status.textContent = `${entry} (${sounds}), ${PARTS[kind()][0]}: ${gloss || "nothing"}${end}.`;
      compare();
    }

    // Reads the word in the field, or the last one that the model could read.
    function take() {
      const now = Spelling.plain(word.value);
      const readable = /^[a-z]+$/.test(now) && now.length >= SHORTEST_WORD && now.length <= LONGEST_WORD;
      if (readable) [entry, sounds] = [now, Spelling.pronounced(stack, now) || "no sound"];
      beginning = readTo(entry);
      write();
      if (!readable) {
        status.textContent = `The model reads one word of ${SHORTEST_WORD} to ${LONGEST_WORD} letters from a to z. `
          + `What you see still belongs to ${entry}.`;
      }
    }

    function again() {
      places = [];
      take();
    }

    function invent() {
      let letters = "";
      while (letters.length < SHORTEST_WORD || letters.length > LONGEST_WORD) [letters] = Spelling.invented(stack, 0.9, 1) ?? [""];
      word.value = letters;
      again();
    }

    function use(newParams) {
      params = newParams;
      back.hidden = params === ofBook;
      take();
    }

    async function load() {
      const [chosen] = file.files;
      if (!chosen) return;
      try {
        use(Model.arranged(ofReader, await Npz.halves(chosen, "weights", nNumbers)));
        aboutWeights.textContent = `${chosen.name} is in use.`;
      } catch ({ message }) {
        aboutWeights.textContent = `${chosen.name} cannot be used: ${message}. Choose the weights.npz that hand_in made.`;
      }
    }

    word.addEventListener("input", take);
    part.addEventListener("change", take);
    for (const { input } of [temperature, p]) input.addEventListener("input", write);
    file.addEventListener("click", () => { file.value = ""; }); // so that a file can be chosen again
    file.addEventListener("change", load);
    back.addEventListener("click", () => {
      use(ofBook);
      aboutWeights.textContent = "The book’s weights are in use.";
      file.value = "";
      file.focus(); // the button disappears
    });
    const label = (text, control) => element("label", {}, element("span", {}, text), control);
    const controls = element("div", { className: "explorer-controls" }, label("A word", word), label("Part of speech", part),
      buttonRow("", { "Invent a word": invent, "Define it again": again }), temperature.label, p.label);
    const weights = element("div", {}, label("Your weights, which stay in this browser", file),
      element("p", { className: "explorer-presets" }, back), aboutWeights);
    take();
    return [controls, element("div", { className: "explorer-answer" }, status, worth), result, weights];
  }

  start("definer", explore);
})();
