/* Two amendments to Sphinx's search (searchtools.js): what has the query in its title comes first, and an excerpt is
   the text of the article, without raw TeX. */

"use strict";

(() => {
  const IN_TITLE = 100; // above an entry of the glossary, which gets 100 at most, by what Sphinx gives the title

  const plain = (text) => text.toLowerCase().replace(/\s+/g, " ").trim();

  /** A result is [page, title, anchor, description, score, file]; a section's title is "Page > Section". */
  Scorer.score = ([, title, , , score]) => {
    const query = plain(new URLSearchParams(location.search).get("q") ?? "");
    const own = plain(title.split(" > ").pop());
    return query && own.includes(query) ? score + IN_TITLE : score;
  };

  /** `\(d_k\)` is a name, and stays; what needs TeX to be read is left out. */
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
