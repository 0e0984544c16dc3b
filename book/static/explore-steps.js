// Chapters 2 and 5: a backward pass, one arrow at a time. The page contains the formulas and the numbers that its cells computed.
"use strict";

(() => {
  const { element, svgElement, formatted, buttonRow, statusLine, start } = Explorers;
  const MARGIN = 0.6; // around the graph
  const GAP = 0.3; // between an array's name and an arrow's end
  const ASIDE = 0.11; // distance of each of the two arrows between two arrays from the middle
  const HEAD = 0.17;

  // The line of an arrow, on the right of its direction, its head, and the place of its name.
  function arrow([x, y], [toX, toY]) {
    const length = Math.hypot(toX - x, toY - y);
    const [alongX, alongY] = [(toX - x) / length, (toY - y) / length];
    const at = (along, right) => [x + alongX * along - alongY * right, y + alongY * along + alongX * right];
    const end = length - GAP;
    const corners = [at(end - HEAD, ASIDE - HEAD / 2), at(end, ASIDE), at(end - HEAD, ASIDE + HEAD / 2)];
    const beside = Math.abs(alongY) > 0.5; // whether the name is beside the arrow, and not above or below
    const anchor = beside ? (alongY < 0 ? "start" : "end") : "middle";
    const name = { at: at(length / 2, beside ? 0.26 : 0.36), anchor };
    return { line: `M${at(GAP, ASIDE)}L${at(end - HEAD, ASIDE)}`, head: `M${corners.join("L")}Z`, name };
  }

  function graph({ places, steps }) {
    const points = Object.fromEntries(Object.entries(places).map(([name, [across, up]]) => [name, [across, -up]]));
    const [xs, ys] = [0, 1].map((axis) => Object.values(points).map((point) => point[axis]));
    const [left, top] = [Math.min(...xs) - MARGIN, Math.min(...ys) - MARGIN];
    const box = [left, top, Math.max(...xs) + MARGIN - left, Math.max(...ys) + MARGIN - top];
    const svg = svgElement("svg", { viewBox: box.join(" "), "aria-hidden": "true", class: "explorer-graph" });

    function draw(className, { line, head }) {
      const group = svgElement("g", { class: className });
      group.append(svgElement("path", { class: "line", d: line }), svgElement("path", { class: "head", d: head }));
      svg.append(group);
      return group;
    }

    const text = ([x, y], name, anchor, className = "") =>
      svgElement("text", { x, y, class: className, "text-anchor": anchor, "dominant-baseline": "central" }, name);
    for (const { from, to } of steps) draw("forwards", arrow(points[to], points[from]));
    const back = steps.map((step) => {
      const shape = arrow(points[step.from], points[step.to]);
      const group = draw("backwards", shape);
      group.append(text(shape.name.at, step.name, shape.name.anchor, "end"));
      return group;
    });
    svg.append(...Object.entries(points).map(([name, point]) => text(point, name, "middle")));
    return { svg, back };
  }

  function numbers({ name, columns, rows }) {
    const heads = [name, ...columns].map((title) => element("th", { scope: "col" }, title));
    const lines = rows.map(([label, row]) => element("tr", {}, element("th", { scope: "row" }, label),
      ...row.map((number) => element("td", {}, formatted(number)))));
    return element("table", {}, element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...lines));
  }

  function explore(place) {
    const walk = Explorers.data(place);
    const { svg, back } = graph(walk);
    const list = place.querySelector("dl");
    const words = [...list.querySelectorAll(":scope > dd")];
    list.remove();
    const parts = walk.steps.map((step, n) => element("div", { className: "explorer-step" },
      ...words[n].childNodes, element("div", { className: "explorer-tables" }, ...step.tables.map(numbers))));
    const status = statusLine();
    let now = 0;

    function go(to) {
      now = Math.min(Math.max(to, 0), parts.length - 1);
      parts.forEach((part, n) => (part.hidden = n !== now));
      back.forEach((group, n) => group.setAttribute("class", `backwards${n > now ? " later" : n === now ? " now" : ""}`));
      const { name, shape } = walk.steps[now];
      status.replaceChildren(`Step ${now + 1} of ${parts.length}: `, element("strong", {}, name), `, of shape (${shape.join(", ")})`);
      previous.setAttribute("aria-disabled", now === 0); // a disabled button would lose the focus
      next.setAttribute("aria-disabled", now === parts.length - 1);
    }

    const buttons = buttonRow("", { Back: () => go(now - 1), Next: () => go(now + 1) });
    const [previous, next] = buttons.querySelectorAll("button");
    buttons.addEventListener("keydown", (event) => {
      const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: parts.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      go(to);
    });
    go(0);
    return [svg, element("div", { className: "explorer-controls" }, buttons, status, ...parts)];
  }

  start("steps", explore);
})();
