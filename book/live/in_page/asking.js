/* Ask the reader in the page. A dialog of the browser would block the other pages of the book. */

import { make } from "./elements.js";

/** Returns a box with a question.
    @param {(Node|string)[]} words the question
    @param {[string, Function][]} answers the label of each button, and what it does after the box is gone */
export function asking(words, answers) {
  const bar = make("div", { className: "live-bar" });
  const box = make("div", { className: "live-asking", role: "alert" }, ...words, bar);
  for (const [label, act] of answers) {
    const button = make("button", { type: "button" }, label);
    button.addEventListener("click", () => {
      box.remove();
      act();
    });
    bar.append(button);
  }
  return box;
}
