// Chapter 1: a query to drag over three keys, with the numbers and names of the figure above it.
"use strict";

(() => {
  const { element, svgElement, formatted, buttonRow, statusLine, dragHint, start } = Explorers;
  const WORDS = [
    { name: "Ada", key: [-1, 1], value: [-1, 0] },
    { name: "Tom", key: [1, 1], value: [1, 0] },
    { name: "ball", key: [0, -1], value: [0, 1] },
  ];
  const PRESETS = { he: [1, 1], it: [0, -1], they: [0, 1], "nothing in particular": [0, 0] };
  const REACH = 3; // the longest component of the query

  const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

  function attend(query, divided) {
    const scores = WORDS.map((word) => dot(query, word.key) / (divided ? Math.SQRT2 : 1));
    const largest = Math.max(...scores);
    const strengths = scores.map((score) => Math.exp(score - largest));
    const sum = strengths.reduce((a, b) => a + b);
    const weights = strengths.map((strength) => strength / sum);
    const output = [0, 1].map((i) => dot(weights, WORDS.map((word) => word.value[i])));
    return { scores, weights, output };
  }

  function slider(label, from, to) {
    const input = element("input", { type: "range", min: -REACH, max: REACH, step: 0.1 });
    const ends = element("span", { className: "explorer-ends" }, element("span", {}, from), element("span", {}, to));
    return { input, row: element("label", {}, element("span", {}, label), input, ends) };
  }

  function explore() {
    const svg = svgElement("svg", { viewBox: "-3.6 -3.6 7.2 7.2", "aria-hidden": "true" });
    svg.append(svgElement("path", { class: "axes", d: "M-3.3 0H3.3M0 -3.3V3.3" }));
    for (const [x, y, text] of [[-3.3, 0.42, "female"], [3.3, 0.42, "male"], [0.12, -3.2, "person"], [0.12, 3.35, "thing"]]) {
      svg.append(svgElement("text", { class: "end", x, y, "text-anchor": y === 0.42 ? (x < 0 ? "start" : "end") : "start" }, text));
    }
    const discs = WORDS.map(({ key }) => svgElement("circle", { class: "weight", cx: key[0], cy: -key[1] }));
    const names = WORDS.map(({ name, key }) =>
      svgElement("text", { x: key[0], y: key[1] > 0 ? -2.05 : 2.3, "text-anchor": "middle" }, name));
    const arrow = svgElement("path", { class: "arrow" });
    const handle = svgElement("circle", { class: "handle", r: 0.3 });
    const hint = dragHint();
    svg.append(...discs, ...names, arrow, handle, hint);

    const across = slider("The query's first number", "female", "male");
    const up = slider("Its second number", "thing", "person");
    const divide = element("input", { type: "checkbox", checked: true });
    const bodies = WORDS.map(() => [element("td"), element("td"), element("td", { className: "bar" }, element("span"))]);
    const rows = WORDS.map((word, i) => element("tr", {}, element("th", { scope: "row" }, word.name), ...bodies[i]));
    const heads = ["key", "score", "weight"].map((text) => element("th", { scope: "col" }, text));
    heads.at(-1).colSpan = 2; // as a number, and as a bar
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...rows));
    const status = statusLine();
    const presets = Object.entries(PRESETS).map(([name, query]) => [name, () => ask(query)]);

    function ask(query) {
      [across.input.value, up.input.value] = query;
      show();
    }

    function show() {
      const query = [across.input.valueAsNumber, up.input.valueAsNumber];
      const { scores, weights, output } = attend(query, divide.checked);
      discs.forEach((disc, i) => disc.setAttribute("r", 0.95 * Math.sqrt(weights[i])));
      arrow.setAttribute("d", `M0 0L${query[0]} ${-query[1]}`);
      handle.setAttribute("cx", query[0]);
      handle.setAttribute("cy", -query[1]);
      hint.setAttribute("x", query[0] + (query[0] > 1.5 ? -1.5 : 1.5)); // beside the largest disc
      hint.setAttribute("y", -query[1]);
      bodies.forEach(([score, weight, bar], i) => {
        score.textContent = formatted(scores[i]);
        weight.textContent = formatted(weights[i]);
        bar.firstChild.style.width = `${100 * weights[i]}%`;
      });
      status.textContent = `The query (${formatted(query[0], 1)}, ${formatted(query[1], 1)}) finds (${output.map((n) => formatted(n)).join(", ")}): how tall, how round.`;
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

    const controls = element("div", { className: "explorer-controls" }, buttonRow("Ask as ", Object.fromEntries(presets)),
      across.row, up.row, element("label", { className: "explorer-check" }, divide, " divide the scores by √2"), table, status);
    ask(PRESETS.he);
    return [svg, controls];
  }

  start("query", explore);
})();
