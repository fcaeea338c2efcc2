import { readStored, writeStored } from "./browser-storage.ts";

export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

const themeKey = "plant-store-theme";

/** The theme that was chosen in this browser; "system" follows the system's. */
export function readTheme(): Theme {
  const stored = readStored("localStorage", themeKey);
  return themes.find((theme) => theme === stored) ?? "system";
}

/** Shows the theme, and keeps it for the next visit if the browser allows that. */
export function chooseTheme(theme: Theme): void {
  showTheme(theme);
  writeStored("localStorage", themeKey, theme);
}

/** The style sheet has a color-scheme for each theme, which every colour follows. */
export function showTheme(theme: Theme): void {
  document.documentElement.dataset["theme"] = theme;
}
