// Runs before the page is drawn, so that it does not flash in the wrong colours.
try {
  const theme = localStorage.getItem("lookalike-theme");
  if (theme === "light" || theme === "dark") document.documentElement.dataset.theme = theme;
} catch {
  // Storage may be switched off; the system's theme is used then.
}
