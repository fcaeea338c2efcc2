import { useEffect, useState } from "preact/hooks";
import { Icon, type IconName } from "./icons.tsx";

const themes = ["auto", "light", "dark"] as const;
type Theme = (typeof themes)[number];

const icons: Record<Theme, IconName> = { auto: "auto", light: "sun", dark: "moon" };
const storageKey = "plant-store-theme";
const darkScheme = "(prefers-color-scheme: dark)";

/** Light, dark, or what the system says; kept in this browser. */
export function ThemeButton() {
  const [theme, setTheme] = useState(keptTheme);
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? "auto";
  return (
    <button
      type="button"
      class="bare"
      aria-label={`Colours: ${theme}. Change to ${next}.`}
      title={`Colours: ${theme}`}
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
  document.documentElement.dataset["theme"] = keptTheme();
  dispatchEvent(new Event("themechange"));
}

/** A number that changes with the colours, for what must be drawn anew then. */
export function useThemeTurn(): number {
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const follow = (): void => setTurn((turn) => turn + 1);
    const scheme = matchMedia(darkScheme);
    scheme.addEventListener("change", follow);
    addEventListener("themechange", follow);
    return () => {
      scheme.removeEventListener("change", follow);
      removeEventListener("themechange", follow);
    };
  }, []);
  return turn;
}

function keptTheme(): Theme {
  const kept = localStorage.getItem(storageKey);
  return themes.find((theme) => theme === kept) ?? "auto";
}
