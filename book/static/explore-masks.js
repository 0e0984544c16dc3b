// Chapter 3: a mask to paint, and what each position can depend on through one or more layers.
"use strict";

(() => {
  const { element, buttonRow, statusLine, start } = Explorers;
  const WORDS = ["<bos>", "Ada", "warf", "Tom", "den", "Ball"]; // the input
  const NEXT = ["Ada", "warf", "Tom", "den", "Ball", "<eos>"]; // the prediction at each position
  const PLACES = WORDS.map((_, i) => i);
  const PRESETS = {
    "causal": (i, j) => j <= i,
    "no mask": () => true,
    "one peek": (i, j) => j <= i || (i === 1 && j === 5),
    "one word too far": (i, j) => j <= i + 1,
    "itself alone": (i, j) => i === j,
  };
  const MOST_LAYERS = 5; // more layers reach nothing new with six positions

  const filled = (rule) => PLACES.map((i) => PLACES.map((j) => rule(i, j)));

  // What each position depends on: itself, through the residual path, and all that the positions it attends to depend on.
  function dependencies(mask, layers) {
    let known = filled((i, j) => i === j);
    for (let layer = 0; layer < layers; layer++) {
      const below = known;
      known = filled((i, j) => below[i][j] || PLACES.some((k) => mask[i][k] && below[k][j]));
    }
    return known;
  }

  function explore() {
    let mask = filled(PRESETS.causal);
    let brush = null; // what the pointer paints while it is pressed
    const cells = filled(() => null);
    const layers = element("input", { type: "range", min: 1, max: MOST_LAYERS, value: 1 });
    const count = element("span"); // an <output> would steal the label from its slider
    const status = statusLine();

    function paint(i, j, may) {
      mask[i][j] = may;
      show();
    }

    // Tab reaches one cell, and the arrow keys move from it to the others.
    function focus(i, j) {
      if (!cells[i]?.[j]) return;
      for (const cell of cells.flat()) cell.tabIndex = -1;
      cells[i][j].tabIndex = 0;
      cells[i][j].focus();
    }

    function cell(i, j) {
      const button = element("button", { type: "button", tabIndex: i || j ? -1 : 0 });
      button.addEventListener("click", (event) => event.detail === 0 && paint(i, j, !mask[i][j])); // assistive technology
      button.addEventListener("pointerdown", (event) => {
        if (event.button !== 0) return;
        event.preventDefault();
        button.releasePointerCapture(event.pointerId); // so that its neighbours get the pointer's events
        brush = !mask[i][j];
        paint(i, j, brush);
      });
      button.addEventListener("pointerenter", () => brush !== null && paint(i, j, brush));
      button.addEventListener("keydown", (event) => {
        const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (!step && event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        step ? focus(i + step[0], j + step[1]) : paint(i, j, !mask[i][j]);
      });
      cells[i][j] = button;
      return element("td", {}, button);
    }

    function show() {
      const known = dependencies(mask, layers.valueAsNumber);
      const leaks = [];
      for (const i of PLACES) {
        for (const j of PLACES) {
          const leaky = known[i][j] && j > i;
          const how = mask[i][j] ? "may attend" : known[i][j] ? "reached through others" : "hidden";
          if (leaky) leaks.push([i, j]);
          cells[i][j].className = `${mask[i][j] ? "may" : known[i][j] ? "through" : "hidden"}${leaky ? " leak" : ""}`;
          const sign = mask[i][j] ? (leaky ? "!" : "●") : known[i][j] ? (leaky ? "!" : "○") : "×";
          cells[i][j].replaceChildren(element("span", { ariaHidden: "true" }, sign)); // the label describes it
          cells[i][j].setAttribute("aria-pressed", mask[i][j]);
          cells[i][j].setAttribute("aria-label", `${WORDS[i]} asks, ${WORDS[j]} is found: ${how}${leaky ? ", a leak" : ""}`);
        }
      }
      count.textContent = layers.value;
      const cheats = PLACES.filter((i) => known[i][i + 1]).map((i) => NEXT[i]);
      status.textContent = leaks.length
        ? `${leaks.length} leak${leaks.length > 1 ? "s" : ""}. ` + (cheats.length
          ? `Known before it is predicted: ${cheats.join(", ")}.` : "No place knows its own next word.")
        : "Tight: no place knows anything that comes after it.";
    }

    const head = element("tr", {}, ...["asks", ...WORDS].map((text) => element("th", { scope: "col" }, text)));
    const rows = PLACES.map((i) => element("tr", {}, element("th", { scope: "row" }, WORDS[i]), ...PLACES.map((j) => cell(i, j))));
    const grid = element("table", { className: "explorer-grid" }, element("thead", {}, head), element("tbody", {}, ...rows));
    const presets = Object.entries(PRESETS).map(([name, rule]) => [name, () => { mask = filled(rule); show(); }]);
    const controls = element("div", { className: "explorer-controls" }, buttonRow("Begin with ", Object.fromEntries(presets)),
      element("label", {}, element("span", {}, "Layers: ", count), layers), status);

    for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => (brush = null));
    layers.addEventListener("input", show);
    show();
    return [grid, controls];
  }

  start("masks", explore);
})();
