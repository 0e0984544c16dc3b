/* Change two things in Sphinx's search (searchtools.js): pages and sections with the query in their title come first, and
   an excerpt is the text of the article without TeX. */

"use strict";

(() => {
  const IN_TITLE = 100; // added to Sphinx's score of a title, so that it exceeds an entry of the glossary, 100 at most

  const plain = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();

  /** A result is [page, title, anchor, description, score, file]; a section's title is "Page > Section". */
  Scorer.score = ([, title, , , score]) => {
    const query = plain(new URLSearchParams(location.search).get("q") ?? "");
    const name = plain(title.split(" > ").pop());
    return query && name.includes(query) ? score + IN_TITLE : score;
  };

  /** Returns the text of a formula such as `\(d_k\)`, and "…" for a formula that only TeX can show. */
  function inWords(formula) {
    const tex = formula.textContent.replace(/^\s*\\[([]|\\[)\]]\s*$/g, "").trim();
    return /[\\{}&]/.test(tex) ? "…" : tex;
  }

  Search.htmlToText = (source, anchor) => {
    const page = new DOMParser().parseFromString(source, "text/html");
    for (const formula of page.querySelectorAll(".math")) formula.replaceWith(inWords(formula));
    page.querySelectorAll(".headerlink, .term-definitions, script, style, svg").forEach((part) => part.remove());
    const section = anchor && page.getElementById(anchor.slice(1));
    const text = (section || page.querySelector("article") || page.body).textContent;
    return text.replace(/\s+/g, " ").trim();
  };
})();
