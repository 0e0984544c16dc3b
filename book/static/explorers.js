// What every explorer needs: elements, numbers in the book's format, and a place on the page.
"use strict";

const Explorers = {
  element(name, properties = {}, ...children) {
    const node = Object.assign(document.createElement(name), properties);
    node.append(...children);
    return node;
  },

  svgElement(name, attributes, text = "") {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    node.textContent = text;
    return node;
  },

  formatted(number, digits = 2) {
    return (Math.abs(number) < 0.5 / 10 ** digits ? 0 : number).toFixed(digits).replace("-", "−");
  },

  // A row of buttons, from label -> action.
  buttonRow(before, actions) {
    const buttons = Object.entries(actions).map(([name, onclick]) =>
      Explorers.element("button", { type: "button", onclick }, name));
    return Explorers.element("p", { className: "explorer-presets" }, before, ...buttons);
  },

  // Buttons that stay pressed. The set contains the numbers of the pressed buttons.
  toggles(before, names, pressed, changed) {
    const { element } = Explorers;
    const buttons = names.map((name, n) => {
      const button = element("button", { type: "button" }, name);
      const press = () => button.setAttribute("aria-pressed", pressed.has(n));
      button.addEventListener("click", () => {
        pressed.delete(n) || pressed.add(n);
        press();
        changed();
      });
      press();
      return button;
    });
    const row = element("p", { className: "explorer-presets" }, `${before} `, ...buttons);
    row.setAttribute("role", "group");
    row.setAttribute("aria-label", before);
    return row;
  },

  // A paragraph that screen readers read aloud when it changes.
  statusLine() {
    const line = Explorers.element("p", { className: "explorer-status" });
    line.setAttribute("aria-live", "polite");
    return line;
  },

  // A slider that shows its value -> {input, label}
  slider(name, properties) {
    const input = Explorers.element("input", { type: "range", ...properties });
    const shown = Explorers.element("output", {}, Explorers.formatted(input.valueAsNumber));
    input.addEventListener("input", () => { shown.textContent = Explorers.formatted(input.valueAsNumber); });
    return { input, label: Explorers.element("label", {}, Explorers.element("span", {}, name), input, shown) };
  },

  // A row per label, which is its first cell's text.
  table(className, heads, rows) {
    const { element } = Explorers;
    const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
    const body = rows.map(([label, ...cells]) => element("tr", {}, element("th", { scope: "row" }, label), ...cells));
    return element("table", { className }, element("thead", {}, head), element("tbody", {}, ...body));
  },

  // Attention weights (T, T_source) as a table: a row per token written, a column per token read.
  attentionMap(name, weights, written, read, text = Explorers.formatted) {
    return Explorers.table("explorer-map", [name, ...read], weights.map((row, t) => [written[t], ...row.map((weight) => {
      const cell = Explorers.element("td", {}, text(weight));
      cell.style.setProperty("--weight", weight);
      return cell;
    })]));
  },

  // A cell with a share as a bar.
  shareBar(share) {
    const bar = Explorers.element("span");
    bar.style.width = `${100 * share}%`;
    return Explorers.element("td", { className: "bar" }, bar);
  },

  // The word "drag", which is beside a handle until the reader presses in a drawing of the explorer.
  dragHint() {
    const hint = Explorers.svgElement("text", { class: "hint", "text-anchor": "middle", "dominant-baseline": "central" }, "drag");
    document.addEventListener("pointerdown", ({ target }) => {
      if (target.closest("svg") && hint.closest(".explorer")?.contains(target)) hint.remove();
    });
    return hint;
  },

  // What the book gives an explorer, from its place or, if it is loaded later, from a script of its own.
  data(place) {
    return Explorers.loaded[place.dataset.loads] ?? JSON.parse(place.querySelector("script").textContent);
  },

  loaded: {},

  // Loads the scripts that the page names for later, when the reader scrolls near one of their places.
  loadWhenNear() {
    const observer = new IntersectionObserver((places) => {
      if (!places.some(({ isIntersecting }) => isIntersecting)) return;
      observer.disconnect();
      for (const { src } of document.querySelectorAll('script[type="text/explorer"]'))
        document.head.append(Explorers.element("script", { src, async: false }));
    }, { rootMargin: "300px" });
    for (const place of document.querySelectorAll("[data-loads]")) {
      place.hidden = false;
      observer.observe(place);
    }
  },

  // Puts the elements that `explore` returns into each place of that name: below the first paragraph of its text, which
  // says what to do, and above the rest.
  start(name, explore) {
    for (const place of document.querySelectorAll(`[data-explorer="${name}"]`)) {
      const task = place.querySelector(".explorer-caption > p");
      task.className = "explorer-task";
      place.prepend(task, Explorers.element("div", { className: "explorer-stage" }, ...explore(place)));
      place.hidden = false;
    }
  },
};

Explorers.loadWhenNear();
