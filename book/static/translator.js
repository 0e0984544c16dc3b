// The trained translator of numbers, for its explorers: its words, a number to enter, and its output in a sentence.
"use strict";

const Translator = (() => {
  const { element, toggles } = Explorers;
  const HEADS = 4;
  const FIRST = 245; // as in the captions
  const MARKS = { bos: 1, eos: 2, longest: 20 }; // the longest number has 11 German words

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

  // Controls: a number, and buttons that strike out its words. `entered` gets the text {number, words, struck}; `struck` is
  // called when the reader strikes out a word of it. After a number that the model has not learnt, the text stays as it is,
  // and the status line says so.
  function controls(status, entered, struck) {
    const input = element("input", { type: "number", min: 0, max: 99999, step: 1, value: FIRST, required: true });
    const row = element("div");
    let text;
    function take() {
      if (!input.checkValidity()) {
        status.textContent = `The model has learnt the whole numbers from 0 to 99,999. What you see still belongs to ${text.number}.`;
        return;
      }
      text = { number: input.valueAsNumber, words: english(input.valueAsNumber), struck: new Set() };
      row.replaceChildren(toggles("Strike out", text.words, text.struck, struck));
      entered(text);
    }
    input.addEventListener("input", take);
    take();
    return [element("label", {}, element("span", {}, "A number from 0 to 99,999"), input), row];
  }

  // The output of the model for a text -> its words, and the result of `Model.greedy`
  function translate(params, { words, struck }, silent = new Set()) {
    const source = words.map((word) => VOCABULARY.indexOf(word));
    const output = Model.greedy(params, source, words.map((_, n) => !struck.has(n)), HEADS, silent, MARKS);
    return { written: output.tokens.map((token) => VOCABULARY[token]), ...output };
  }

  // A sentence for the first words of a translation. `complete` says whether these are all.
  function sentence({ number }, written, complete = true) {
    const text = `${number}: ${written.filter((word) => word !== "<eos>").join(" ")}`;
    if (!complete) return `${text} …`;
    const right = german(number).join(" ");
    if (written.join(" ") === `${right} <eos>`) return `${text}. That is right.`;
    const endless = written.at(-1) === "<eos>" ? "" : " … and no end";
    return `${text}${endless}. The right translation is ${right}.`;
  }

  return { HEADS, VOCABULARY, controls, translate, sentence };
})();
