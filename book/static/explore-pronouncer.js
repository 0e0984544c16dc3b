// Chapter 10: the trained model of letters to sounds. The reader types a word, or loads weights of their own.
"use strict";

(() => {
  const { element, formatted, statusLine, table, shareBar, attentionMap, start } = Explorers;
  const { LETTERS, SOUNDS, plain } = Spelling;
  const HEADS = 4;
  const FIRST = "Stephanie"; // as in the caption
  const [BOS, EOS, LONGEST] = [1, 2, 20];
  const VOCABULARY = ["<pad>", "<bos>", "end", "<sep>", ...LETTERS, ...Object.keys(SOUNDS)];

  // A list of letters or of sounds -> what the model writes for it
  function transcribe(params, read) {
    const source = read.map((token) => VOCABULARY.indexOf(token));
    return Model.greedy(params, source, source.map(() => true), HEADS, undefined, { bos: BOS, eos: EOS, longest: LONGEST });
  }

  const pronounce = (params, word) => transcribe(params, [...word]);
  const names = (tokens) => tokens.filter((token) => token !== EOS).map((token) => VOCABULARY[token]);
  const spoken = (tokens) => names(tokens).join(" ");

  // A row per token written: its probability, and the next likeliest token.
  function choices({ tokens, logits }, written) {
    const rows = tokens.map((token, t) => {
      const shares = Model.softmax(logits[t]);
      const other = Model.nextLikeliest(shares, token);
      return [VOCABULARY[token], element("td", {}, SOUNDS[VOCABULARY[token]] ?? ""), element("td", {}, formatted(shares[token])),
        shareBar(shares[token]), element("td", {}, `${VOCABULARY[other]} ${formatted(shares[other])}`)];
    });
    const result = table("explorer-choices", [written, "as in", "probability", "next likeliest"], rows);
    result.querySelector("th:nth-child(3)").colSpan = 2; // as a number, and as a bar
    return result;
  }

  const average = (maps) => maps[0].map((row, t) => row.map((_, s) => maps.reduce((sum, map) => sum + map[t][s] / maps.length, 0)));

  function explore(place) {
    const { words, back: backwards, ...model } = Explorers.data(place);
    const nNumbers = Object.values(model.shapes).flatMap((shape) => shape.reduce((a, b) => a * b)).reduce((a, b) => a + b);
    const ofBook = Model.read(model);
    const speller = backwards && Model.read(backwards);
    const way = element("select", {}, ...["letters to sounds", "sounds to letters"].map((name) => element("option", {}, name)));
    const word = element("input", { type: "text", value: FIRST, autocomplete: "off", spellcheck: false });
    const shown = element("select", {}, ...["average of the heads", ...Array.from({ length: HEADS }, (_, head) => `head ${head}`)]
      .map((name) => element("option", {}, name)));
    const file = element("input", { type: "file", accept: ".npz" });
    const back = element("button", { type: "button", hidden: true }, "The book’s weights");
    const task = `Test on ${words.length} unseen words`;
    const test = element("button", { type: "button" }, task);
    const [status, aboutWeights, tested] = [statusLine(), statusLine(), statusLine()];
    const [sounds, map] = [element("div"), element("div", { className: "explorer-tables explorer-letters" })];
    let [params, owner, output, testing] = [ofBook, "The book’s model", null, null];
    const lastRead = []; // direction -> the last letters or sounds that the model could read

    function showMap() {
      const head = shown.selectedIndex - 1;
      const weights = head < 0 ? average(output.weights) : output.weights[head];
      map.replaceChildren(attentionMap("percent", weights, output.tokens.map((token) => VOCABULARY[token]), output.read,
        (weight) => formatted(100 * weight, 0)));
    }

    // The letters or sounds in the field; null if the model cannot read them.
    function entered(spells) {
      const read = spells ? word.value.trim().toUpperCase().split(/\s+/) : [...plain(word.value)];
      const known = spells ? (sound) => sound in SOUNDS : (letter) => LETTERS.includes(letter);
      return read.length >= 1 && read.length <= 20 && read.every(known) ? read : null;
    }

    // Shows what the model writes for the field, or for the last text that it could read.
    function take() {
      const spells = way.selectedIndex === 1;
      const now = entered(spells);
      const read = lastRead[way.selectedIndex] = now ?? lastRead[way.selectedIndex];
      const space = spells ? " " : "";
      if (!now) {
        status.textContent = spells ? `The model reads 1 to 20 sounds with spaces between: ${Object.keys(SOUNDS).join(" ")}.`
          : "The model reads one word of 1 to 20 letters from a to z.";
        status.textContent += read ? ` What you see still belongs to ${read.join(space)}.` : "";
      }
      if (!read) return;
      output = { read, ...transcribe(spells ? speller : params, read) };
      sounds.replaceChildren(choices(output, spells ? "letter" : "sound"));
      showMap();
      if (!now) return;
      const written = spells ? names(output.tokens).join("") || "no letter" : spoken(output.tokens) || "no sound";
      const end = output.tokens.at(-1) === EOS ? "." : " … and no end.";
      const unusual = !spells && (read.length < 3 || read.length > 10) ? " It has learnt words of 3 to 10 letters only." : "";
      status.textContent = `${read.join(space)}: ${written}${end}${unusual}`;
    }

    // What the one model wrote is what the other one reads.
    function turnRound() {
      const spells = way.selectedIndex === 1;
      word.value = names(output.tokens).join(spells ? " " : "");
      word.previousSibling.textContent = spells ? "Sounds" : "A name or a word";
      weights.hidden = spells;
      take();
    }

    function use(newParams, newOwner) {
      [params, owner, testing] = [newParams, newOwner, null];
      back.hidden = params === ofBook;
      tested.textContent = "";
      take();
    }

    async function load() {
      const [chosen] = file.files;
      if (!chosen) return;
      try {
        const bytes = await Npz.halves(chosen, "weights", nNumbers);
        use(Model.arranged(model.shapes, bytes), chosen.name);
        aboutWeights.textContent = `${chosen.name} is in use.`;
      } catch ({ message }) {
        aboutWeights.textContent = `${chosen.name} cannot be used: ${message}. Choose the weights.npz that hand_in made.`;
      }
    }

    // Word by word, so that the page stays usable.
    async function testOnWords() {
      if (testing) return;
      const mine = testing = {};
      let right = 0;
      for (const [n, [spelling, sounding]] of words.entries()) {
        test.textContent = `${n} of ${words.length} words`;
        await new Promise((resume) => setTimeout(resume));
        if (testing !== mine) break;
        right += spoken(pronounce(params, spelling).tokens) === sounding;
      }
      test.textContent = task;
      if (testing !== mine) return;
      testing = null;
      tested.textContent = `${owner} gets ${right} of ${words.length} words right.`;
    }

    word.addEventListener("input", take);
    way.addEventListener("change", turnRound);
    shown.addEventListener("change", showMap);
    file.addEventListener("click", () => { file.value = ""; }); // so that a file can be chosen again
    file.addEventListener("change", load);
    back.addEventListener("click", () => {
      use(ofBook, "The book’s model");
      aboutWeights.textContent = "The book’s weights are in use.";
      file.value = "";
      file.focus(); // the button disappears
    });
    test.addEventListener("click", testOnWords);
    const label = (text, control) => element("label", {}, element("span", {}, text), control);
    const weights = element("div", {}, label("Your weights, which stay in this browser", file),
      element("p", { className: "explorer-presets" }, back), aboutWeights, element("p", { className: "explorer-presets" }, test), tested);
    const controls = element("div", { className: "explorer-controls" }, ...(speller ? [label("Direction", way)] : []),
      label("A name or a word", word), status, label("Cross-attention of the last layer", shown), weights);
    take();
    return [controls, sounds, map];
  }

  start("pronouncer", explore);
})();
