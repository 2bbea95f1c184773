// What axe-core asks of the theme: the search has a name, and what scrolls can be scrolled by keyboard.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelector("[data-md-component=search]")?.setAttribute("aria-label", "Search");
  for (const box of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap, .md-typeset__table")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
});
