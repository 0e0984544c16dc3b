// Chapter 9: the trained translator. The reader enters a number, the decoder writes, and we show what its heads attend to.
"use strict";

(() => {
  const { element, formatted, buttonRow, statusLine, table, shareBar, attentionMap, start } = Explorers;
  const HEADS = 4;
  const LIKELIEST = 5;
  const FIRST = 245; // as in the caption
  const MARKS = { bos: 1, eos: 2, longest: 20 }; // the longest number has 11 German words

  // ---- numbers in words

  const ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"];
  const TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
  const MORPHEMES = ["null", "ein", "eins", "zwei", "drei", "vier", "fünf", "sech", "sechs", "sieb", "sieben", "acht",
    "neun", "zehn", "elf", "zwölf", "zwan", "zig", "ßig", "und", "hundert", "tausend"];
  const VOCABULARY = ["<pad>", "<bos>", "<eos>", ...[...ONES, ...TENS, "hundred", "thousand"].sort(), ...MORPHEMES];
  const EINER = ["", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun"];

  function english(number) {
    if (number < 20) return [ONES[number]];
    const [unit, size, word] = number < 100 ? [number % 10, 10, ""] : number < 1000 ? [number % 100, 100, "hundred"]
      : [number % 1000, 1000, "thousand"];
    const count = Math.floor(number / size);
    return [...(word ? [...english(count), word] : [TENS[count - 2]]), ...(unit ? english(unit) : [])];
  }

  // The form before another morpheme, without "eins": einhundert, einundzwanzig.
  function stem(number) {
    const short = { 6: "sech", 7: "sieb" };
    const [tens, unit] = [Math.floor(number / 10), number % 10];
    if (number < 10) return [EINER[number]];
    if (number < 13) return [["zehn", "elf", "zwölf"][unit]];
    if (number < 20) return [short[unit] ?? EINER[unit], "zehn"];
    if (number < 100) return [...(unit ? [EINER[unit], "und"] : []), tens === 2 ? "zwan" : short[tens] ?? EINER[tens],
      tens === 3 ? "ßig" : "zig"];
    const [size, word] = number < 1000 ? [100, "hundert"] : [1000, "tausend"];
    return [...stem(Math.floor(number / size)), word, ...(number % size ? stem(number % size) : [])];
  }

  function german(number) {
    if (number === 0) return ["null"];
    const words = stem(number);
    return words.at(-1) === "ein" ? [...words.slice(0, -1), "eins"] : words;
  }

  // ---- elements

  // Buttons that stay pressed. The set contains the numbers of the pressed buttons.
  function toggles(before, names, pressed, changed) {
    const buttons = names.map((name, n) => {
      const button = element("button", { type: "button" }, name);
      const press = () => button.setAttribute("aria-pressed", pressed.has(n));
      button.addEventListener("click", () => {
        pressed.delete(n) || pressed.add(n);
        press();
        changed();
      });
      press();
      return button;
    });
    const row = element("p", { className: "explorer-presets" }, `${before} `, ...buttons);
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", before);
    return row;
  }

  // The likeliest words at one position, from its logits.
  function bars(logits, place) {
    const likeliest = Model.softmax(logits).map((share, token) => [share, token])
      .sort(([a], [b]) => b - a).slice(0, LIKELIEST);
    const rows = table("", [`word ${place}`, "probability"], likeliest.map(([share, token]) =>
      [VOCABULARY[token], element("td", {}, formatted(share)), shareBar(share)]));
    rows.querySelector("th:last-child").colSpan = 2; // as a number, and as a bar
    return rows;
  }

  function explore(place) {
    const params = Model.read(JSON.parse(place.querySelector("script").textContent));
    const number = element("input", { type: "number", min: 0, max: 99999, step: 1, value: FIRST, required: true });
    const [struck, silent] = [new Set(), new Set()];
    const [words, likeliest, maps] = [element("div"), element("div"), element("div", { className: "explorer-tables explorer-heads" })];
    const status = statusLine();
    let [read, output, now] = [[], null, 0];

    function go(to) {
      const last = output.tokens.length - 1;
      now = Math.min(Math.max(to, 0), last);
      const written = output.tokens.slice(0, now + 1).map((token) => VOCABULARY[token]);
      likeliest.replaceChildren(bars(output.logits[now], now + 1));
      maps.replaceChildren(...output.weights.map((weights, head) => attentionMap(
        `head ${head}${silent.has(head) ? ", silent" : ""}`, weights.slice(0, now + 1), written, read)));
      status.textContent = sentence(written, now === last);
      back.setAttribute("aria-disabled", now === 0); // a disabled button would lose the focus
      for (const button of [next, all]) button.setAttribute("aria-disabled", now === last);
    }

    function sentence(written, complete) {
      const text = `${number.valueAsNumber}: ${written.filter((word) => word !== "<eos>").join(" ")}`;
      if (!complete) return `${text} …`;
      const right = [...german(number.valueAsNumber), "<eos>"].join(" ");
      if (written.join(" ") === right) return `${text}. That is right.`;
      const endless = written.at(-1) === "<eos>" ? "" : " … and no end";
      return `${text}${endless}. The right translation is ${german(number.valueAsNumber).join(" ")}.`;
    }

    // Decode again, and stay at the current word, or at the end.
    function decode() {
      const atEnd = !output || now === output.tokens.length - 1;
      const source = read.map((word) => VOCABULARY.indexOf(word));
      output = Model.greedy(params, source, read.map((_, n) => !struck.has(n)), HEADS, silent, MARKS);
      go(atEnd ? Infinity : now);
    }

    function take() {
      const valid = number.checkValidity();
      for (const part of [words, likeliest, maps, buttons]) part.hidden = !valid;
      status.textContent = valid ? "" : "The model has learnt the whole numbers from 0 to 99,999.";
      if (!valid) return;
      struck.clear();
      read = english(number.valueAsNumber);
      words.replaceChildren(toggles("Strike out", read, struck, decode));
      output = null;
      decode();
    }

    const buttons = buttonRow("", { Back: () => go(now - 1), Next: () => go(now + 1), All: () => go(Infinity) });
    const [back, next, all] = buttons.querySelectorAll("button");
    buttons.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: Infinity }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      go(to);
    });
    number.addEventListener("input", take);
    const heads = toggles("Silence", Array.from({ length: HEADS }, (_, head) => `head ${head}`), silent, decode);
    take();
    const controls = element("div", { className: "explorer-controls" },
      element("label", {}, element("span", {}, "A number from 0 to 99,999"), number), words, heads, buttons, status);
    return [controls, likeliest, maps];
  }

  start("translator", explore);
})();
