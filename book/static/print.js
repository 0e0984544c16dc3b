/* Paper is white: what is printed is printed in the light theme's colours, whichever one is read in. */

"use strict";

(() => {
  const page = document.documentElement.dataset;
  let read = page.theme;

  addEventListener("beforeprint", () => {
    read = page.theme;
    page.theme = "light";
  });
  addEventListener("afterprint", () => {
    page.theme = read;
  });
})();
