// Letters and sounds, and the stack of chapter 10 that invents words and pronounces them, for explorers of two chapters.
"use strict";

const Spelling = (() => {
  const [HEADS, BOS, EOS, LONGEST] = [4, 1, 2, 26];
  const LETTERS = "abcdefghijklmnopqrstuvwxyz";
  // Each sound, and a word that has it.
  const SOUNDS = {
    AA: "father", AE: "cat", AH: "cup", AO: "law", AW: "now", AY: "fly", B: "bee", CH: "chin", D: "day", DH: "this",
    EH: "bed", ER: "bird", EY: "say", F: "fee", G: "goat", HH: "hat", IH: "sit", IY: "see", JH: "joy", K: "key", L: "low",
    M: "men", N: "not", NG: "sing", OW: "boat", OY: "boy", P: "pie", R: "row", S: "sun", SH: "she", T: "tea", TH: "thin",
    UH: "book", UW: "too", V: "van", W: "web", Y: "yes", Z: "zoo", ZH: "vision",
  };
  const VOCABULARY = ["padding", "begin", "end", "mark", ...LETTERS, ...Object.keys(SOUNDS)];

  const OTHER_LETTERS = { ß: "ss", ł: "l", ø: "o", đ: "d", ð: "d", þ: "th", æ: "ae", œ: "oe", ı: "i" };

  // The letters a to z of a word; accents, apostrophes and hyphens are left out.
  const plain = (text) => text.trim().toLowerCase().normalize("NFD").replace(/[\p{M}'’‘ʼ‐‑-]/gu, "")
    .replace(/[^a-z]/g, (letter) => OTHER_LETTERS[letter] ?? letter);

  // The token at this place, from 0 to 1, of a distribution
  function drawn(chances, goal = Math.random()) {
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

  // The likeliest sounds for a word
  function pronounced(params, word) {
    const tokens = [BOS];
    const inputs = Object.values(params.layers).map(() => []);
    const heard = [];
    for (const known of [...word, "mark", ...Array(LONGEST).fill(null)]) {
      const scores = Model.stackStep(params, tokens, inputs, HEADS);
      const token = known ? VOCABULARY.indexOf(known) : scores.indexOf(Math.max(...scores));
      if (token === EOS) break;
      if (!known) heard.push(VOCABULARY[token]);
      tokens.push(token);
    }
    return heard.join(" ");
  }

  return { LETTERS, SOUNDS, plain, drawn, invented, pronounced };
})();
