// Runs before the first paint, so that the page never flashes in the other theme.
"use strict";
try {
  const theme = localStorage.getItem("theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  /* storage is switched off: the system's theme is used */
}
