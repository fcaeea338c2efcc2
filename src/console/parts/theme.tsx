import { useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";

const themes = ["auto", "light", "dark"] as const;
type Theme = (typeof themes)[number];

const icons: Record<Theme, IconName> = { auto: "auto", light: "sun", dark: "moon" };
const storageKey = "plant-store-theme";

/** Switches between the system, light and dark themes. */
export function ThemeButton() {
  const [theme, setTheme] = useState(storedTheme);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? "auto";
  return (
    <button
      type="button"
      class="bare"
      aria-label={`Theme: ${theme}. Switch to ${next}.`}
      title={`Theme: ${theme}`}
      onClick={() => {
        localStorage.setItem(storageKey, next);
        applyTheme();
        setTheme(next);
      }}
    >
      <Icon name={icons[theme]} />
    </button>
  );
}

export function applyTheme(): void {
  document.documentElement.dataset["theme"] = storedTheme();
}

function storedTheme(): Theme {
  const stored = localStorage.getItem(storageKey);
  return themes.find((theme) => theme === stored) ?? "auto";
}
