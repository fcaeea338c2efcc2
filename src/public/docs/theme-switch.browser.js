// The button that shows which theme is chosen; each click chooses the next. theme.browser.js keeps it.
const themes = ["system", "light", "dark"];
const button = document.getElementById("theme");

function show() {
  const { theme } = document.documentElement.dataset;
  button.ariaLabel = `Theme: ${theme}`;
  button.title = `Theme: ${theme}. Click for ${themeAfter(theme)}.`;
}

function themeAfter(theme) {
  return themes[(themes.indexOf(theme) + 1) % themes.length];
}

button.addEventListener("click", () => {
  const { dataset } = document.documentElement;
  dataset.theme = themeAfter(dataset.theme);
  show();
});
show();
button.hidden = false;
