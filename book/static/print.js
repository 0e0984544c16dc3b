/* Print in the light theme's colours, whichever theme the reader uses, because paper is white. */

"use strict";

(() => {
  const page = document.documentElement.dataset;
  let theme = page.theme;

  addEventListener("beforeprint", () => {
    theme = page.theme;
    page.theme = "light";
  });
  addEventListener("afterprint", () => {
    page.theme = theme;
  });
})();
