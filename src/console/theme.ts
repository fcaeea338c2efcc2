export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const themeKey = "plant-store-theme";

/** The theme that was chosen in this browser; "system" follows the system's. */
export function readTheme(): Theme {
  try {
    const stored = localStorage.getItem(themeKey);
    return themes.find((theme) => theme === stored) ?? "system";
  } catch {
    // The browser may be set to keep nothing for this site.
    return "system";
  }
}

/** Shows the theme, and keeps it for the next visit if the browser allows that. */
export function chooseTheme(theme: Theme): void {
  showTheme(theme);
  try {
    localStorage.setItem(themeKey, theme);
  } catch {
    // It holds until the page is loaded again.
  }
}

/** The style sheet has a color-scheme for each theme, which every colour follows. */
export function showTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
}
