// How the search compares a reader's words with the titles and names of sections. `Stemmer` and `stopwords` are Sphinx's.
"use strict";

const SearchWords = (() => {
  const QUESTION = new Set(["what", "how", "why", "when", "does", "do", "an", "from", "explained", "s"]);
  const stemmer = new Stemmer();

  // The book's spelling is British: normalization -> normalisation, optimizer -> optimiser; but not size, or resize.
  const british = (text) => text.replace(/(?<=[a-z]{3})(?<!s)iz(?=ation|e|ing)/gi, "is");

  /** Returns the words of a text without words such as "the", in British spelling and lower case. */
  const words = (text) => british(text.toLowerCase()).split(/[^\p{Letter}\p{Number}]+/u)
    .filter((word) => word && !stopwords.includes(word) && !QUESTION.has(word));

  const stems = (text) => words(text).map((word) => stemmer.stemWord(word));
  const length = (text) => words(text).join("").length;

  /** Returns the share of the title that the query covers: 1 for the whole title, 0 if the title lacks a word of it. */
  function inTitle(query, title) {
    const [asked, has] = [stems(query), stems(title)];
    const typed = words(query).join(""); // "flash attention" and "layer norm" begin FlashAttention and layer normalisation
    const starts = words(title).map((_, i, all) => all.slice(i).join(""));
    const found = asked.every((stem) => has.includes(stem)) || starts.some((start) => start.startsWith(typed));
    return typed && found ? Math.min(length(query) / length(title), 1) : 0;
  }

  /** Returns the share of the query that a name covers: 1 if the query is the name, 0 if the name is not in the query. */
  function ofName(name, query) {
    const [wanted, asked] = [stems(name).join(""), stems(query)];
    const found = asked.some((_, i) => asked.some((_, j) => asked.slice(i, j + 1).join("") === wanted));
    return found ? Math.min(length(name) / length(query), 1) : 0;
  }

  return { british, inTitle, ofName };
})();
