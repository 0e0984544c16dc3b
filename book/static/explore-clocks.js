// Chapter 6: four clocks at a position and k positions later. The rotation between the two is the same for every position.
"use strict";

(() => {
  const { element, svgElement, formatted, buttonRow, statusLine, dragHint, start } = Explorers;
  const WIDTH = 8; // d_model in the figure with four clocks
  const SPEEDS = Array.from({ length: WIDTH / 2 }, (_, clock) => 10000 ** ((-2 * clock) / WIDTH));
  const LAST = 100; // position
  const FURTHEST = 10; // shift in each direction
  const PRESETS = [1, 9, 60]; // positions; the figure shows the first two
  const DIGITS = 3;

  const hand = (angle) => [Math.sin(angle), Math.cos(angle)]; // right, up
  const rotation = (theta) => [[Math.cos(theta), -Math.sin(theta)], [Math.sin(theta), Math.cos(theta)]];
  const times = (row, matrix) => [0, 1].map((j) => row[0] * matrix[0][j] + row[1] * matrix[1][j]);
  const point = ([right, up], length = 1) => `${length * right} ${-length * up}`;

  // An arc inside the dial. It has short pieces, because it may go round more than once.
  function arc(from, theta) {
    const pieces = Array.from({ length: 61 }, (_, n) => point(hand(from + (theta * n) / 60), 0.45));
    return `M${pieces.join("L")}`;
  }

  function clock(speed, number) {
    const svg = svgElement("svg", { viewBox: "-1.15 -1.15 2.3 2.3", "aria-hidden": "true" });
    const turned = svgElement("path", { class: "turn" });
    const before = svgElement("path", { class: "before" });
    const after = svgElement("path", { class: "after" });
    const tip = svgElement("circle", { class: "handle", r: 0.15 });
    svg.append(svgElement("circle", { class: "dial", r: 1 }), turned, before, after, tip);
    const hint = dragHint();
    if (number === 0) svg.append(hint);

    const rows = Array.from({ length: 4 }, () => ({ head: element("th", { scope: "row" }), cells: [element("td"), element("td")] }));
    rows[1].head.rowSpan = 2; // the matrix has two lines
    rows[1].head.textContent = "turn";
    const heads = [`clock ${number}`, "sine", "cosine"].map((text) => element("th", { scope: "col" }, text));
    const body = rows.map(({ head, cells }, n) => element("tr", {}, ...(n === 2 ? cells : [head, ...cells])));
    const table = element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...body));

    function show(position, shift) {
      const [from, theta] = [speed * position, speed * shift];
      const moved = times(hand(from), rotation(theta)); // line 3 of the derivation
      turned.setAttribute("d", arc(from, theta));
      before.setAttribute("d", `M0 0L${point(hand(from))}`);
      after.setAttribute("d", `M0 0L${point(moved)}`);
      tip.setAttribute("cx", moved[0]);
      tip.setAttribute("cy", -moved[1]);
      const side = moved[0] * hand(from)[1] > moved[1] * hand(from)[0] ? 0.5 : -0.5; // the side without the other hand
      hint.setAttribute("x", side * moved[1]);
      hint.setAttribute("y", side * moved[0]);
      rows[0].head.replaceChildren(element("i", {}, "P"), element("sub", {}, position));
      rows[3].head.replaceChildren(element("i", {}, "P"), element("sub", {}, position + shift));
      [hand(from), ...rotation(theta), moved].forEach((pair, n) =>
        pair.forEach((number, side) => (rows[n].cells[side].textContent = formatted(number, DIGITS))));
    }

    return { speed, svg, show, part: element("div", {}, svg, table) };
  }

  function slider(label, bounds) {
    const value = element("span"); // an <output> would steal the label from its slider
    const input = element("input", { type: "range", step: 1, ...bounds });
    return { input, value, row: element("label", {}, element("span", {}, label, value), input) };
  }

  function explore() {
    const clocks = SPEEDS.map(clock);
    const position = slider("Position p: ", { min: 0, max: LAST, value: PRESETS[0] });
    const shift = slider("Shift k: ", { min: -FURTHEST, max: FURTHEST, value: 3 });
    const status = statusLine();

    function show() {
      const k = shift.input.valueAsNumber;
      position.input.min = Math.max(0, -k); // the shifted position must not be negative
      const p = position.input.valueAsNumber;
      position.value.textContent = p;
      shift.value.textContent = formatted(k, 0);
      for (const one of clocks) one.show(p, k);
      const turns = SPEEDS.map((speed) => formatted(speed * k, DIGITS));
      status.textContent = `From position ${p} to ${p + k} the four clocks turn by ${turns.slice(0, -1).join(", ")} and ` +
        `${turns.at(-1)} radians, as from any other position.`;
    }

    function moveTo(p) {
      position.input.value = Math.round(p);
      show();
    }

    // Dragging one hand changes the position, and so all other hands.
    function makeDraggable({ svg, speed }) {
      let [exact, from] = [0, 0]; // position with its fraction; the pointer's last angle
      const angle = (event) => {
        const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
        return Math.atan2(point.x, -point.y);
      };
      svg.addEventListener("pointerdown", (event) => {
        svg.setPointerCapture(event.pointerId);
        [exact, from] = [position.input.valueAsNumber, angle(event)];
      });
      svg.addEventListener("pointermove", (event) => {
        if (!svg.hasPointerCapture(event.pointerId)) return;
        const now = angle(event);
        const least = now - from - 2 * Math.PI * Math.round((now - from) / (2 * Math.PI)); // the short way round
        exact = Math.min(Math.max(exact + least / speed, position.input.min), LAST);
        from = now;
        moveTo(exact);
      });
    }

    clocks.forEach(makeDraggable);
    for (const { input } of [position, shift]) input.addEventListener("input", show);
    const places = PRESETS.map((p) => [p, () => moveTo(p)]);
    const controls = element("div", { className: "explorer-controls" }, shift.row, position.row,
      buttonRow("Begin at ", Object.fromEntries(places)), status);
    show();
    return [element("div", { className: "explorer-clocks" }, ...clocks.map(({ part }) => part)), controls];
  }

  start("clocks", explore);
})();
