// Chapter 3: a mask to paint, and what each place can know through one layer of it or more.
"use strict";

(() => {
  const { made, choices, said: spoken, begin } = Explorers;
  const WORDS = ["<bos>", "Ada", "warf", "Tom", "den", "Ball"]; // what goes in
  const NEXT = ["Ada", "warf", "Tom", "den", "Ball", "<eos>"]; // what each place is to predict
  const PLACES = WORDS.map((_, i) => i);
  const PRESETS = {
    "causal": (i, j) => j <= i,
    "no mask": () => true,
    "one peek": (i, j) => j <= i || (i === 1 && j === 5),
    "one word too far": (i, j) => j <= i + 1,
    "itself alone": (i, j) => i === j,
  };
  const MOST_LAYERS = 5; // with as many, what can be reached in six places has been

  const painted = (rule) => PLACES.map((i) => PLACES.map((j) => rule(i, j)));

  // What each place depends on: its residual path, and through each layer all that those it sees depend on.
  function reached(mask, layers) {
    let known = painted((i, j) => i === j);
    for (let layer = 0; layer < layers; layer++) {
      const below = known;
      known = painted((i, j) => below[i][j] || PLACES.some((k) => mask[i][k] && below[k][j]));
    }
    return known;
  }

  function explore() {
    let mask = painted(PRESETS.causal);
    let brush = null; // what the pressed pointer paints
    const cells = painted(() => null);
    const layers = made("input", { type: "range", min: 1, max: MOST_LAYERS, value: 1 });
    const count = made("span"); // an output would take the label from its slider
    const said = spoken();

    function paint(i, j, may) {
      mask[i][j] = may;
      show();
    }

    // One cell is in the order of Tab; the arrow keys go from it to the others.
    function go(i, j) {
      if (!cells[i]?.[j]) return;
      for (const cell of cells.flat()) cell.tabIndex = -1;
      cells[i][j].tabIndex = 0;
      cells[i][j].focus();
    }

    function cell(i, j) {
      const button = made("button", { type: "button", tabIndex: i || j ? -1 : 0 });
      button.addEventListener("pointerdown", (event) => {
        event.preventDefault();
        button.releasePointerCapture(event.pointerId); // so that its neighbours hear of the pointer
        brush = !mask[i][j];
        paint(i, j, brush);
      });
      button.addEventListener("pointerenter", () => brush !== null && paint(i, j, brush));
      button.addEventListener("keydown", (event) => {
        const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
        if (!step && event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        step ? go(i + step[0], j + step[1]) : paint(i, j, !mask[i][j]);
      });
      cells[i][j] = button;
      return made("td", {}, button);
    }

    function show() {
      const known = reached(mask, layers.valueAsNumber);
      const leaks = [];
      for (const i of PLACES) {
        for (const j of PLACES) {
          const leaky = known[i][j] && j > i;
          const how = mask[i][j] ? "may attend" : known[i][j] ? "reached through others" : "hidden";
          if (leaky) leaks.push([i, j]);
          cells[i][j].className = `${mask[i][j] ? "may" : known[i][j] ? "through" : "hidden"}${leaky ? " leak" : ""}`;
          const sign = mask[i][j] ? (leaky ? "!" : "●") : known[i][j] ? (leaky ? "!" : "○") : "×";
          cells[i][j].replaceChildren(made("span", { ariaHidden: "true" }, sign)); // the label says it
          cells[i][j].setAttribute("aria-pressed", mask[i][j]);
          cells[i][j].setAttribute("aria-label", `${WORDS[i]} asks, ${WORDS[j]} is found: ${how}${leaky ? ", a leak" : ""}`);
        }
      }
      count.textContent = layers.value;
      const cheats = PLACES.filter((i) => known[i][i + 1]).map((i) => NEXT[i]);
      said.textContent = leaks.length
        ? `${leaks.length} leak${leaks.length > 1 ? "s" : ""}. ` + (cheats.length
          ? `Known before it is predicted: ${cheats.join(", ")}.` : "No place knows its own next word.")
        : "Tight: no place knows anything that comes after it.";
    }

    const head = made("tr", {}, ...["asks", ...WORDS].map((text) => made("th", { scope: "col" }, text)));
    const rows = PLACES.map((i) => made("tr", {}, made("th", { scope: "row" }, WORDS[i]), ...PLACES.map((j) => cell(i, j))));
    const grid = made("table", { className: "explorer-grid" }, made("thead", {}, head), made("tbody", {}, ...rows));
    const presets = Object.entries(PRESETS).map(([name, rule]) => [name, () => { mask = painted(rule); show(); }]);
    const controls = made("div", { className: "explorer-controls" }, choices("Begin with ", Object.fromEntries(presets)),
      made("label", {}, made("span", {}, "Layers: ", count), layers), said);

    for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => (brush = null));
    layers.addEventListener("input", show);
    show();
    return [grid, controls];
  }

  begin("masks", explore);
})();
