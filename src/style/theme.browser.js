// The theme of the console and the docs page. In <head>, before anything is drawn: no page flashes in the other theme.
{
  const key = "plant-store-theme";
  const root = document.documentElement;
  let stored;
  try {
    stored = localStorage.getItem(key);
  } catch {
    // The browser is set to keep nothing for this site.
  }
  // tokens.css has a color-scheme for each, which every colour follows; "system" follows the system's.
  root.dataset.theme = ["light", "dark"].includes(stored) ? stored : "system";

  // A switch only sets the attribute; the choice is kept for the next visit here.
  const keep = () => {
    try {
      localStorage.setItem(key, root.dataset.theme);
    } catch {
      // It holds until the page is closed.
    }
  };
  new MutationObserver(keep).observe(root, { attributeFilter: ["data-theme"] });
}
