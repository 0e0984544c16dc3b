// Chapter 1: a query to drag over three keys. Numbers and names are those of the figure above it.
"use strict";

(() => {
  const { made, drawn, shown, choices, said: spoken, begin } = Explorers;
  const WORDS = [
    { name: "Ada", key: [-1, 1], value: [-1, 0] },
    { name: "Tom", key: [1, 1], value: [1, 0] },
    { name: "ball", key: [0, -1], value: [0, 1] },
  ];
  const ASKED = { he: [1, 1], it: [0, -1], they: [0, 1], "nothing in particular": [0, 0] };
  const REACH = 3; // how far the arrow can point, each way

  const dot = (a, b) => a.reduce((sum, each, i) => sum + each * b[i], 0);

  function lookUp(query, divided) {
    const scores = WORDS.map((word) => dot(query, word.key) / (divided ? Math.SQRT2 : 1));
    const largest = Math.max(...scores);
    const strengths = scores.map((score) => Math.exp(score - largest));
    const sum = strengths.reduce((a, b) => a + b);
    const weights = strengths.map((strength) => strength / sum);
    const found = [0, 1].map((i) => dot(weights, WORDS.map((word) => word.value[i])));
    return { scores, weights, found };
  }

  function slider(label, from, to) {
    const input = made("input", { type: "range", min: -REACH, max: REACH, step: 0.1 });
    const ends = made("span", { className: "explorer-ends" }, made("span", {}, from), made("span", {}, to));
    return { input, row: made("label", {}, made("span", {}, label), input, ends) };
  }

  function explore() {
    const svg = drawn("svg", { viewBox: "-3.6 -3.6 7.2 7.2", "aria-hidden": "true" });
    svg.append(drawn("path", { class: "axes", d: "M-3.3 0H3.3M0 -3.3V3.3" }));
    for (const [x, y, text] of [[-3.3, 0.42, "female"], [3.3, 0.42, "male"], [0.12, -3.2, "person"], [0.12, 3.35, "thing"]]) {
      svg.append(drawn("text", { class: "end", x, y, "text-anchor": y === 0.42 ? (x < 0 ? "start" : "end") : "start" }, text));
    }
    const discs = WORDS.map(({ key }) => drawn("circle", { class: "weight", cx: key[0], cy: -key[1] }));
    const names = WORDS.map(({ name, key }) =>
      drawn("text", { x: key[0], y: key[1] > 0 ? -2.05 : 2.3, "text-anchor": "middle" }, name));
    const arrow = drawn("path", { class: "arrow" });
    const handle = drawn("circle", { class: "handle", r: 0.24 });
    svg.append(...discs, ...names, arrow, handle);

    const across = slider("The query's first number", "female", "male");
    const up = slider("Its second number", "thing", "person");
    const divide = made("input", { type: "checkbox", checked: true });
    const bodies = WORDS.map(() => [made("td"), made("td"), made("td", { className: "bar" }, made("span"))]);
    const rows = WORDS.map((word, i) => made("tr", {}, made("th", { scope: "row" }, word.name), ...bodies[i]));
    const heads = ["key", "score", "weight"].map((text) => made("th", { scope: "col" }, text));
    heads.at(-1).colSpan = 2; // as a number, and as a bar
    const table = made("table", {}, made("thead", {}, made("tr", {}, ...heads)), made("tbody", {}, ...rows));
    const said = spoken();
    const presets = Object.entries(ASKED).map(([name, query]) => [name, () => ask(query)]);

    function ask(query) {
      [across.input.value, up.input.value] = query;
      show();
    }

    function show() {
      const query = [across.input.valueAsNumber, up.input.valueAsNumber];
      const { scores, weights, found } = lookUp(query, divide.checked);
      discs.forEach((disc, i) => disc.setAttribute("r", 0.95 * Math.sqrt(weights[i])));
      arrow.setAttribute("d", `M0 0L${query[0]} ${-query[1]}`);
      handle.setAttribute("cx", query[0]);
      handle.setAttribute("cy", -query[1]);
      bodies.forEach(([score, weight, bar], i) => {
        score.textContent = shown(scores[i]);
        weight.textContent = shown(weights[i]);
        bar.firstChild.style.width = `${100 * weights[i]}%`;
      });
      said.textContent = `The query (${shown(query[0], 1)}, ${shown(query[1], 1)}) finds (${found.map((n) => shown(n)).join(", ")}): how tall, how round.`;
    }

    function follow(event) {
      const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
      ask([point.x, -point.y]);
    }

    svg.addEventListener("pointerdown", (event) => {
      svg.setPointerCapture(event.pointerId);
      follow(event);
    });
    svg.addEventListener("pointermove", (event) => svg.hasPointerCapture(event.pointerId) && follow(event));
    for (const input of [across.input, up.input, divide]) input.addEventListener("input", show);

    const controls = made("div", { className: "explorer-controls" }, choices("Ask as ", Object.fromEntries(presets)),
      across.row, up.row, made("label", { className: "explorer-check" }, divide, " divide the scores by √2"), table, said);
    ask(ASKED.he);
    return [svg, controls];
  }

  begin("query", explore);
})();
