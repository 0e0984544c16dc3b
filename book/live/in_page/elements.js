/* Make elements, and links within the page. */

import { config } from "./page_data.js";

/** Returns an element with properties and children. A name with "-", as in "aria-label", is an attribute. */
export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element && !name.includes("-")) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

/** Turns the titles of sections into links where a message quotes them. */
export function linkSections(root) {
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const quoted = [];
  while (texts.nextNode()) quoted.push(texts.currentNode);
  for (const text of quoted) {
    if (text.parentElement.closest("a, pre, code")) continue;
    for (const [title, address] of Object.entries(config.sections)) {
      const at = text.data.indexOf(`“${title}”`);
      if (at < 0) continue;
      const rest = text.splitText(at + 1);
      rest.splitText(title.length);
      rest.replaceWith(make("a", { href: address }, title));
      break;
    }
  }
}

/** Returns the nodes of a sentence, with the text between backticks as code. */
export const coded = (sentence) => sentence.split("`").map((part, i) => (i % 2 ? make("code", {}, part) : part));
