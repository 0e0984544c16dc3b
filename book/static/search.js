/* Change three things in Sphinx's search (searchtools.js): sections come before pages, a section is also found by its other
   names (chapters/search_names.yml), and an excerpt is the text of the article without TeX. */

"use strict";

(() => {
  const NAMES = JSON.parse(document.getElementById("search-names").textContent); // "page#anchor" -> names
  const SECTION = 100; // more than a page whose text has the words
  const LESSON = 25; // for a section of a chapter, or of "Since then"
  const EXERCISE = 20;
  const DEFINITION = 1.5; // an exact term of the glossary comes after an exact title, and before a title that has more

  const isLesson = (page) => /\/(\d\d_|since_then)/.test(page);

  /** Scorer.score is Sphinx's hook. A result is [page, title, anchor, description, score, file]. */
  Scorer.score = ([, , anchor, , score]) => (anchor.startsWith("#term-") ? DEFINITION * score : score);

  /** Returns the sections and pages whose title has all words of the query, or whose other name is in the query. */
  function sections(query) {
    const { alltitles, titles, docnames, filenames } = Search._index;
    const places = Object.entries(alltitles).flatMap(([title, found]) => found.map(([file, id]) => ({ title, file, id })));
    return places.flatMap(({ title, file, id }) => {
      if (id === null && !titles[file].endsWith(title)) return []; // a title inside a page, to which no link leads
      const page = docnames[file];
      const anchor = id === null ? "" : `#${id}`;
      const names = NAMES[page + anchor] ?? [];
      const share = Math.max(SearchWords.inTitle(query, title), ...names.map((name) => SearchWords.ofName(name, query)));
      if (!share) return [];
      const exercise = /^ \((.*)\)$/.exec(title); // as sphinx-exercise writes titles
      const kind = exercise ? EXERCISE : isLesson(page) ? LESSON : 0;
      const shown = id === null ? titles[file] : `${titles[file]} > ${exercise ? `Exercise: ${exercise[1]}` : title}`;
      const later = file / docnames.length + (id === null ? 0 : 1 / 100); // for equals, their order in the book
      return [[page, shown, anchor, null, SECTION * (1 + share) + kind - later, filenames[file]]];
    });
  }

  const search = Search._performSearch;
  Search._performSearch = (query) => {
    const best = new Map();
    const results = [...search(...Search._parseQuery(SearchWords.british(query))), ...sections(query)];
    for (const result of results.sort((a, b) => a[4] - b[4])) {
      const place = result[0] + result[2];
      best.delete(place); // so that the better one takes its later place
      best.set(place, result);
    }
    return [...best.values()]; // the best result is the last, as in Sphinx
  };

  /** Returns the text of a formula such as `\(d_k\)`, and "…" for a formula that only TeX can show. */
  function inWords(formula) {
    const { tex = formula.textContent } = formula.querySelector("[data-tex]")?.dataset ?? {};
    const words = tex.replace(/^\s*\\[([]|\\[)\]]\s*$/g, "").trim();
    return /[\\{}&]/.test(words) ? "…" : words;
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
