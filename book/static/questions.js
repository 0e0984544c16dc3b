/* Remembers, in this browser alone, which answers of a page's questions were opened and what was written.
   Without storage (a private window, say) the questions work all the same and are forgotten. */

"use strict";

(() => {
  function remembered(key) {
    try {
      return JSON.parse(localStorage.getItem(key)) ?? {};
    } catch {
      return {};
    }
  }

  function remember(key, state) {
    try {
      localStorage.setItem(key, JSON.stringify(state));
    } catch {
      // No storage, or no room in it.
    }
  }

  class Question {
    constructor(element) {
      this.key = element.dataset.key;
      this.answers = [...element.querySelectorAll("details.answer")];
      this.words = element.querySelector("textarea");
      const { open = [], answered = false, words = "" } = remembered(this.key);
      this.answered = answered;
      this.answers.forEach((answer, i) => { answer.open = open.includes(i); });
      if (this.words) this.words.value = words;
    }

    listen(changed) {
      for (const answer of this.answers) {
        // A click, from the keyboard too: what a search in the page or a printer opens is no answer.
        answer.querySelector("summary").addEventListener("click", () => setTimeout(() => {
          this.answered = true;
          this.keep();
          changed();
        }));
      }
      this.words?.addEventListener("input", () => this.keep());
    }

    keep() {
      const open = [...this.answers.keys()].filter((i) => this.answers[i].open);
      remember(this.key, { open, answered: this.answered, words: this.words?.value });
    }

    /** Closed again, and unanswered; what was written stays. */
    restart() {
      this.answers.forEach((answer) => { answer.open = false; });
      this.answered = false;
      this.keep();
    }
  }

  function count(questions, before) {
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
    const own = elements.filter((element) => element.closest("section") === section);
    count(own.map((element) => new Question(element)), own[0]);
  }
})();
