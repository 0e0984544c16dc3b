// Chapter 6: four clocks at a position and k further on; the turn between the two is the same wherever one begins.
"use strict";

(() => {
  const { made, drawn, shown, choices, said: spoken, begin } = Explorers;
  const WIDTH = 8; // of the figure with four clocks
  const SPEEDS = Array.from({ length: WIDTH / 2 }, (_, clock) => 10000 ** ((-2 * clock) / WIDTH));
  const LAST = 100; // position
  const FURTHEST = 10; // shift, each way
  const FROM = [1, 9, 60]; // positions to try one shift at; the first two are those of the figure
  const DIGITS = 3;

  const hand = (angle) => [Math.sin(angle), Math.cos(angle)]; // how far to the right, how far up
  const turn = (theta) => [[Math.cos(theta), -Math.sin(theta)], [Math.sin(theta), Math.cos(theta)]];
  const times = (row, matrix) => [0, 1].map((j) => row[0] * matrix[0][j] + row[1] * matrix[1][j]);
  const at = ([right, up], length = 1) => `${length * right} ${-length * up}`;

  // From one angle to the other, on a circle inside the dial; in short pieces, since it may go round more than once.
  function arc(from, theta) {
    const pieces = Array.from({ length: 61 }, (_, n) => at(hand(from + (theta * n) / 60), 0.45));
    return `M${pieces.join("L")}`;
  }

  function clock(speed, number) {
    const svg = drawn("svg", { viewBox: "-1.15 -1.15 2.3 2.3", "aria-hidden": "true" });
    const turned = drawn("path", { class: "turn" });
    const before = drawn("path", { class: "before" });
    const after = drawn("path", { class: "after" });
    const tip = drawn("circle", { class: "weight", r: 0.09 });
    svg.append(drawn("circle", { class: "dial", r: 1 }), turned, before, after, tip);

    const rows = Array.from({ length: 4 }, () => ({ head: made("th", { scope: "row" }), cells: [made("td"), made("td")] }));
    rows[1].head.rowSpan = 2; // the matrix has two lines
    rows[1].head.textContent = "turn";
    const heads = [`clock ${number}`, "sine", "cosine"].map((text) => made("th", { scope: "col" }, text));
    const body = rows.map(({ head, cells }, n) => made("tr", {}, ...(n === 2 ? cells : [head, ...cells])));
    const table = made("table", {}, made("thead", {}, made("tr", {}, ...heads)), made("tbody", {}, ...body));

    function show(position, shift) {
      const [from, theta] = [speed * position, speed * shift];
      const moved = times(hand(from), turn(theta)); // line 3 of the derivation
      turned.setAttribute("d", arc(from, theta));
      before.setAttribute("d", `M0 0L${at(hand(from))}`);
      after.setAttribute("d", `M0 0L${at(moved)}`);
      tip.setAttribute("cx", moved[0]);
      tip.setAttribute("cy", -moved[1]);
      rows[0].head.replaceChildren(made("i", {}, "P"), made("sub", {}, position));
      rows[3].head.replaceChildren(made("i", {}, "P"), made("sub", {}, position + shift));
      [hand(from), ...turn(theta), moved].forEach((pair, n) =>
        pair.forEach((number, side) => (rows[n].cells[side].textContent = shown(number, DIGITS))));
    }

    return { speed, svg, show, part: made("div", {}, svg, table) };
  }

  function slider(label, bounds) {
    const value = made("span"); // an output would take the label from its slider
    const input = made("input", { type: "range", step: 1, ...bounds });
    return { input, value, row: made("label", {}, made("span", {}, label, value), input) };
  }

  function explore() {
    const clocks = SPEEDS.map(clock);
    const position = slider("Position p: ", { min: 0, max: LAST, value: FROM[0] });
    const shift = slider("Shift k: ", { min: -FURTHEST, max: FURTHEST, value: 3 });
    const said = spoken();

    function show() {
      const k = shift.input.valueAsNumber;
      position.input.min = Math.max(0, -k); // no shift leads to a place before the first
      const p = position.input.valueAsNumber;
      position.value.textContent = p;
      shift.value.textContent = shown(k, 0);
      for (const each of clocks) each.show(p, k);
      const turns = SPEEDS.map((speed) => shown(speed * k, DIGITS));
      said.textContent = `From position ${p} to ${p + k} the four clocks turn by ${turns.slice(0, -1).join(", ")} and ` +
        `${turns.at(-1)} radians, as from any other position.`;
    }

    function go(p) {
      position.input.value = Math.round(p);
      show();
    }

    // A hand that is turned takes the position with it, and so all other hands.
    function turnable({ svg, speed }) {
      let [held, from] = [0, 0]; // position with its fraction; the pointer's angle
      const angle = (event) => {
        const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
        return Math.atan2(point.x, -point.y);
      };
      svg.addEventListener("pointerdown", (event) => {
        svg.setPointerCapture(event.pointerId);
        [held, from] = [position.input.valueAsNumber, angle(event)];
      });
      svg.addEventListener("pointermove", (event) => {
        if (!svg.hasPointerCapture(event.pointerId)) return;
        const now = angle(event);
        const least = now - from - 2 * Math.PI * Math.round((now - from) / (2 * Math.PI)); // the short way round
        held = Math.min(Math.max(held + least / speed, position.input.min), LAST);
        from = now;
        go(held);
      });
    }

    clocks.forEach(turnable);
    for (const { input } of [position, shift]) input.addEventListener("input", show);
    const places = FROM.map((p) => [p, () => go(p)]);
    const controls = made("div", { className: "explorer-controls" }, shift.row, position.row,
      choices("Begin at ", Object.fromEntries(places)), said);
    show();
    return [made("div", { className: "explorer-clocks" }, ...clocks.map(({ part }) => part)), controls];
  }

  begin("clocks", explore);
})();
