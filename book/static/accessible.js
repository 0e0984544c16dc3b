// What the theme and MyST-NB leave out for those who hear a page, speak to it, or move in it by keyboard.
"use strict";

(() => {
  // Who speaks to a page says what stands on a button: its words are its name, and not others beside them.
  document.querySelectorAll("summary[aria-label], .search-button-field").forEach((each) => each.removeAttribute("aria-label"));
  // An icon is an <i> with a title, or by now Font Awesome's image with one: in Firefox it is often the first to come.
  document.querySelectorAll(".theme-switch").forEach((icon) => {
    for (const name of ["title", "aria-labelledby"]) icon.removeAttribute(name);
    icon.setAttribute("aria-hidden", "true");
    icon.querySelector("title")?.remove();
  });

  // The book's title stands outside all that one can jump to.
  const title = document.querySelector(".sidebar-primary-items__start > .sidebar-primary-item");
  title?.setAttribute("role", "region");
  title?.setAttribute("aria-label", "The book");

  // The theme takes the focus from some of its buttons when they are pressed, and gives it to nobody.
  document.addEventListener("click", ({ target }) => {
    const button = target.closest(".theme-switch-button, .sidebar-toggle");
    setTimeout(() => {
      if (document.activeElement === document.body) button?.focus();
    });
  }, true); // before its own listeners, of which one lets no other hear
})();
