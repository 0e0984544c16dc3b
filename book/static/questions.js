/* Store which answers the reader opened and what the reader wrote. */

"use strict";

(() => {
  class Question {
    constructor(element) {
      this.key = element.dataset.key;
      this.answers = [...element.querySelectorAll("details.answer")];
      this.words = element.querySelector("textarea");
      this.restore();
    }

    /** Shows what this browser has stored, from an earlier visit or from another tab. */
    restore() {
      const { open = [], answered = false, words = "" } = bookStorage.read(this.key);
      this.answered = answered;
      this.answers.forEach((answer, i) => { answer.open = open.includes(i); });
      if (this.words && this.words.value !== words) this.words.value = words; // a new value moves the cursor
    }

    listen(changed) {
      for (const answer of this.answers) {
        // We count clicks, which the keyboard also sends, because a search in the page and a printer open answers too.
        answer.querySelector("summary").addEventListener("click", () => setTimeout(() => {
          this.answered = true;
          this.saveAnswers();
          changed();
        }));
      }
      this.words?.addEventListener("focus", () => this.restore()); // a browser may have suspended this tab meanwhile
      this.words?.addEventListener("input", () => this.save({ words: this.words.value }));
      bookStorage.onOtherTab((keys) => {
        if (!keys.includes(this.key)) return;
        this.restore();
        changed();
      });
    }

    saveAnswers() {
      const open = [...this.answers.keys()].filter((i) => this.answers[i].open);
      this.save({ open, answered: this.answered });
    }

    /** Stores a part of the state, and keeps the other parts as another tab has stored them. */
    save(part) {
      bookStorage.write(this.key, { open: [], answered: false, ...bookStorage.read(this.key), ...part });
    }

    /** Closes the answers, and counts the question as not answered. The words stay. */
    restart() {
      this.answers.forEach((answer) => { answer.open = false; });
      this.answered = false;
      this.saveAnswers();
    }
  }

  /** Shows a line with the number of answered questions before an element. */
  function showCount(questions, before) {
    const line = document.createElement("p");
    line.className = "questions-answered";
    const text = document.createElement("span");
    const again = document.createElement("button");
    again.type = "button";
    again.textContent = "Start again";
    line.append(text, again);
    before.before(line);

    function show() {
      const answered = questions.filter((question) => question.answered).length;
      text.textContent = `${answered} of ${questions.length} answered`;
      again.hidden = answered === 0;
    }

    again.addEventListener("click", () => {
      questions.forEach((question) => question.restart());
      show();
      before.scrollIntoView({ block: "nearest" });
      before.querySelector("summary").focus();
    });
    questions.forEach((question) => question.listen(show));
    show();
  }

  const elements = [...document.querySelectorAll(".question")];
  for (const section of new Set(elements.map((element) => element.closest("section")))) {
    const inSection = elements.filter((element) => element.closest("section") === section);
    showCount(inSection.map((element) => new Question(element)), inSection[0]);
  }
})();
