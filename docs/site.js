// What axe-core asks of the theme: the search has a name, and what scrolls can be scrolled by keyboard.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelector("[data-md-component=search]")?.setAttribute("aria-label", "Search");
  for (const box of document.querySelectorAll(".md-typeset pre > code, .md-typeset__scrollwrap, .md-typeset__table")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
  // The theme adds a nav with a copy button to every block of code, as soon as it comes into view.
  const calm = () => document.querySelectorAll("nav.md-code__nav:not([role])").forEach((bar) => bar.setAttribute("role", "none"));
  new MutationObserver(calm).observe(document.body, { childList: true, subtree: true });
  calm();
});
