/* Start the scripts of a page that comes from a server. A browser loads no modules for a page that was opened from a disk. */

"use strict";

(() => {
  const { src, dataset } = document.currentScript;
  if (location.protocol === "file:") {
    const line = document.createElement("p");
    line.className = "live-progress";
    line.append("To write and check exercises in the pages, serve the book: run ");
    const command = document.createElement("code");
    command.textContent = "make serve";
    const other = document.createElement("code");
    other.textContent = "python3 -m http.server --bind 127.0.0.1 --directory _build/html";
    line.append(command, " in its repository, or ", other, " if you have only the built book.");
    document.querySelectorAll(".live-progress, nav.live-links").forEach((element) => element.remove());
    document.querySelector(".live-answers, .live-book, .first-exercise.cell")?.before(line);
    return;
  }
  import(new URL(dataset.module, src));
})();
