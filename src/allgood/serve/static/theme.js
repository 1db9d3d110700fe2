// Runs before the first paint, so that the page never flashes in the other theme.
"use strict";
try {
  const theme = JSON.parse(localStorage.getItem("theme"));
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  /* storage is switched off, or holds no theme: the system's theme is used */
}
