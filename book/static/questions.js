/* Store which answers the reader opened and what the reader wrote. */

"use strict";

(() => {
  class Question {
    constructor(element) {
      this.key = element.dataset.key;
      this.answers = [...element.querySelectorAll("details.answer")];
      this.words = element.querySelector("textarea");
      const { open = [], answered = false, words = "" } = bookStorage.read(this.key);
      this.answered = answered;
      this.answers.forEach((answer, i) => { answer.open = open.includes(i); });
      if (this.words) this.words.value = words;
    }

    listen(changed) {
      for (const answer of this.answers) {
        // We count clicks, which the keyboard also sends, because a search in the page and a printer open answers too.
        answer.querySelector("summary").addEventListener("click", () => setTimeout(() => {
          this.answered = true;
          this.save();
          changed();
        }));
      }
      this.words?.addEventListener("input", () => this.save());
    }

    save() {
      const open = [...this.answers.keys()].filter((i) => this.answers[i].open);
      bookStorage.write(this.key, { open, answered: this.answered, words: this.words?.value });
    }

    /** Closes the answers, and counts the question as not answered. The words stay. */
    restart() {
      this.answers.forEach((answer) => { answer.open = false; });
      this.answered = false;
      this.save();
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
