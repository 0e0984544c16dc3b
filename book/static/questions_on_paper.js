/* On paper, the answers of an article stand after all its questions, so that readers can try to answer first. */

"use strict";

(() => {
  let moved = []; // pairs of an answer's text and its fold

  const element = (name, className, ...children) => {
    const made = Object.assign(document.createElement(name), { className });
    made.append(...children);
    return made;
  };

  /** Returns an item with the answers of a question, after its number and what it asks. */
  function itemOf(question) {
    const legend = question.querySelector("legend").cloneNode(true);
    legend.querySelector(".question-kind").remove();
    const item = element("li", "", element("p", "asked", ...legend.childNodes));
    for (const fold of question.querySelectorAll("details.answer")) {
      const isChoice = fold.matches(".yes, .no");
      if (isChoice) item.append(element("p", `chosen ${fold.matches(".yes") ? "yes" : "no"}`, ...fold.querySelector("summary > span").cloneNode(true).childNodes));
      const text = fold.querySelector(".answer-text");
      moved.push([text, fold]);
      item.append(text);
    }
    return item;
  }

  addEventListener("beforeprint", () => {
    for (const article of document.querySelectorAll("article:has(.question)")) {
      const items = [...article.querySelectorAll(".question")].map(itemOf);
      article.append(element("section", "answers-on-paper", element("h2", "", "Answers to the questions"), element("ol", "", ...items)));
    }
  });
  addEventListener("afterprint", () => {
    moved.forEach(([text, fold]) => fold.append(text));
    moved = [];
    document.querySelectorAll(".answers-on-paper").forEach((section) => section.remove());
  });
})();
