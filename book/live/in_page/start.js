/* Makes the exercises of a page live, where the page was served; a browser runs no module of a page from the disk. */

"use strict";

(() => {
  const here = document.currentScript.src;
  if (location.protocol === "file:") {
    const line = document.createElement("p");
    line.className = "live-progress";
    line.append("To write and check the exercises in this page, serve the book: ");
    const command = document.createElement("code");
    command.textContent = "make serve";
    const other = document.createElement("code");
    other.textContent = "python3 -m http.server --bind 127.0.0.1 --directory _build/html";
    line.append(command, " in its repository, or ", other, " where there is only the built book.");
    document.querySelector(".live-answers")?.before(line);
    return;
  }
  import(new URL("page.js", here));
})();
