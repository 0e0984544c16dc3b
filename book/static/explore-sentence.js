// Chapter 1: the trained translator, before the reader knows of heads. We show the mean of what they attend to.
"use strict";

(() => {
  const { element, formatted, statusLine, attentionMap, start } = Explorers;
  const visible = (weight) => formatted(weight).replace(/^0\.00$/, ""); // as in the figure

  // (n_heads, T, T_source) -> (T, T_source)
  function mean(heads) {
    return heads[0].map((row, t) => row.map((_, s) => heads.reduce((sum, head) => sum + head[t][s], 0) / heads.length));
  }

  function explore(place) {
    const params = Model.read(Explorers.data(place));
    const map = element("div", { className: "explorer-tables" });
    const status = statusLine();
    let text;

    function translate() {
      const { written, weights } = Translator.translate(params, text);
      const words = written.filter((word) => word !== "<eos>");
      map.replaceChildren(attentionMap("weights", mean(weights).slice(0, words.length), words, text.words, visible));
      status.textContent = Translator.sentence(text, written);
    }

    function take(entered) {
      text = entered;
      translate();
    }

    const controls = Translator.controls(status, take, translate);
    return [element("div", { className: "explorer-controls" }, ...controls, status), element("div", {}, map)];
  }

  start("sentence", explore);
})();
