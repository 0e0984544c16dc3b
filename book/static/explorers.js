// What every explorer needs: elements, numbers as the book writes them, and a place to stand.
"use strict";

const Explorers = {
  made(name, properties = {}, ...children) {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  },

  drawn(name, attributes, text = "") {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    element.textContent = text;
    return element;
  },

  shown(number, digits = 2) {
    return (Math.abs(number) < 0.5 / 10 ** digits ? 0 : number).toFixed(digits).replace("-", "−");
  },

  // A row of buttons: what each is called, and what it does.
  choices(before, actions) {
    const buttons = Object.entries(actions).map(([name, onclick]) =>
      Explorers.made("button", { type: "button", onclick }, name));
    return Explorers.made("p", { className: "explorer-presets" }, before, ...buttons);
  },

  // What is read aloud when it changes.
  said() {
    const said = Explorers.made("p", { className: "explorer-said" });
    said.setAttribute("aria-live", "polite");
    return said;
  },

  // Put the parts into each place of that name, above its caption.
  begin(name, explore) {
    for (const place of document.querySelectorAll(`[data-explorer="${name}"]`)) {
      place.prepend(Explorers.made("div", { className: "explorer-stage" }, ...explore(place)));
      place.hidden = false;
    }
  },
};
