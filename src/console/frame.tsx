import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { useConsole } from "./console.ts";
import { formatShortTime } from "./format-time.ts";
import { ImportIndicator } from "./import/import-page.tsx";
import { Button } from "./parts/controls.tsx";
import { useConnection } from "./parts/hooks.ts";
import { Icon, type IconName, Leaf } from "./parts/icons.tsx";
import { Link } from "./parts/link.tsx";

const themes = ["system", "light", "dark"] as const;

export interface PageLink {
  readonly href: string;
  readonly name: string;
  readonly icon: IconName;
}

interface FrameProps {
  /** The pages that the token may use. */
  readonly entries: readonly PageLink[];
  /** The page that is open; undefined if there is none at the path in the address bar. */
  readonly current: string | undefined;
  readonly children: ComponentChildren;
}

/** The header of every page: navigation, the account, and whether the service responds. */
export function Frame({ entries, current, children }: FrameProps) {
  return (
    <div class="frame">
      <a class="skip" href="#main">
        Skip to content
      </a>
      <header class="bar">
        <Link href="/" class="brand">
          <Leaf /> <span class="label">Plant Store</span>
        </Link>
        <nav aria-label="Pages">
          {entries.map(({ href, name, icon }) => (
            <Link key={href} href={href} title={name} aria-current={href === current ? "page" : undefined}>
              <Icon name={icon} /> <span class="label">{name}</span>
            </Link>
          ))}
        </nav>
        <Account />
      </header>
      <main id="main" tabIndex={-1}>
        <OfflineNotice />
        {children}
      </main>
    </div>
  );
}

/** Who is signed in, the theme, and the import that is running. */
function Account() {
  const { session } = useConsole();
  const { me } = session;
  return (
    <div class="account">
      <ImportIndicator />
      <p class="who" title={`Scopes: ${me.scopes.join(", ")}`}>
        <span class="visually-hidden">Signed in as </span>
        {me.name}
      </p>
      <ThemeSwitch />
      <Button class="bare" aria-label="Sign out" title="Sign out" onClick={() => session.signOut()}>
        <Icon name="leave" />
      </Button>
    </div>
  );
}

/** Shows which theme is chosen; each click chooses the next. src/style/theme.browser.js keeps it. */
function ThemeSwitch() {
  const { dataset } = document.documentElement;
  const [theme, setTheme] = useState(() => themes.find((name) => name === dataset["theme"]) ?? "system");
  const next = themes[(themes.indexOf(theme) + 1) % themes.length] ?? "system";
  return (
    <Button
      class="bare"
      aria-label={`Theme: ${theme}`}
      title={`Theme: ${theme}. Click for ${next}.`}
      onClick={() => {
        dataset["theme"] = next;
        setTheme(next);
      }}
    >
      <Icon name={`theme-${theme}`} />
    </Button>
  );
}

/** Says, on every page, how long the service has not responded; removed once it is back. */
function OfflineNotice() {
  const { isLost, since } = useConnection();
  return (
    <div role="status">
      {isLost && (
        <p class="error-notice offline">
          No connection to the service since {formatShortTime(since)}. This page may be out of date; it
          updates by itself once the service responds.
        </p>
      )}
    </div>
  );
}
