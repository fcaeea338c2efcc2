import { useEffect, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";

const themes = ["auto", "light", "dark"] as const;
type Theme = (typeof themes)[number];

const icons: Record<Theme, IconName> = { auto: "auto", light: "sun", dark: "moon" };
const storageKey = "plant-store-theme";
const darkScheme = "(prefers-color-scheme: dark)";

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
  dispatchEvent(new Event("themechange"));
}

/** Changes with the theme, for content that must be redrawn. */
export function useThemeVersion(): number {
  const [version, setVersion] = useState(0);
  useEffect(() => {
    const onChange = (): void => setVersion((version) => version + 1);
    const scheme = matchMedia(darkScheme);
    scheme.addEventListener("change", onChange);
    addEventListener("themechange", onChange);
    return () => {
      scheme.removeEventListener("change", onChange);
      removeEventListener("themechange", onChange);
    };
  }, []);
  return version;
}

function storedTheme(): Theme {
  const stored = localStorage.getItem(storageKey);
  return themes.find((theme) => theme === stored) ?? "auto";
}
