// What the theme and MyST-NB lack for readers who use a screen reader, voice control or the keyboard.
"use strict";

(() => {
  // A reader with voice control says the words on a button, so these words must be its accessible name.
  document.querySelectorAll("summary[aria-label], .search-button-field").forEach((control) => control.removeAttribute("aria-label"));
  // An icon is a character of a font, which a screen reader would try to read. Its title would be a second name of a button.
  document.querySelectorAll(".fa-solid, .fas").forEach((icon) => {
    icon.removeAttribute("title");
    icon.setAttribute("aria-hidden", "true");
  });

  // The book's title is outside of all landmarks of the page.
  const title = document.querySelector(".sidebar-primary-items__start > .sidebar-primary-item");
  title?.setAttribute("role", "region");
  title?.setAttribute("aria-label", "The book");

  // Some buttons of the theme lose the focus when the reader presses them.
  document.addEventListener("click", ({ target }) => {
    const button = target.closest(".theme-switch-button, .sidebar-toggle");
    setTimeout(() => {
      if (document.activeElement === document.body) button?.focus();
    });
  }, true); // before the theme's listeners, one of which stops the event
})();
