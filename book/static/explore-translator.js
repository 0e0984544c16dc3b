// Chapter 9: the trained translator. The reader enters a number, the decoder writes, and we show what its heads attend to.
"use strict";

(() => {
  const { element, formatted, buttonRow, statusLine, table, shareBar, attentionMap, toggles, start } = Explorers;
  const { HEADS, VOCABULARY } = Translator;
  const LIKELIEST = 5;

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
    const params = Model.read(Explorers.data(place));
    const silent = new Set();
    const [likeliest, maps] = [element("div"), element("div", { className: "explorer-tables explorer-heads" })];
    const status = statusLine();
    let [text, output, now] = [null, null, 0];

    function go(to) {
      const last = output.tokens.length - 1;
      now = Math.min(Math.max(to, 0), last);
      const written = output.written.slice(0, now + 1);
      likeliest.replaceChildren(bars(output.logits[now], now + 1));
      maps.replaceChildren(...output.weights.map((weights, head) => attentionMap(
        `head ${head}${silent.has(head) ? ", silent" : ""}`, weights.slice(0, now + 1), written, text.words)));
      status.textContent = Translator.sentence(text, written, now === last);
      back.setAttribute("aria-disabled", now === 0); // a disabled button would lose the focus
      for (const button of [next, all]) button.setAttribute("aria-disabled", now === last);
    }

    // Decode again, and stay at the current word, or at the end.
    function decode() {
      const atEnd = !output || now === output.tokens.length - 1;
      output = Translator.translate(params, text, silent);
      go(atEnd ? Infinity : now);
    }

    function take(entered) {
      [text, output] = [entered, null];
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
    const heads = toggles("Silence", Array.from({ length: HEADS }, (_, head) => `head ${head}`), silent, decode);
    const controls = element("div", { className: "explorer-controls" },
      ...Translator.controls(status, take, decode), heads, buttons, status);
    return [controls, likeliest, maps];
  }

  start("translator", explore);
})();
