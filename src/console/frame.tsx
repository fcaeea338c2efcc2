import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { FeedState } from "./feed.ts";
import { formatClock } from "./format.ts";
import { ImportIndicator } from "./import/import-indicator.tsx";
import { Icon, type IconName, Leaf } from "./parts/icons.tsx";
import { Link } from "./parts/link.tsx";
import { ThemeButton } from "./parts/theme.tsx";
import { useRouter } from "./router.ts";
import { hasScope, useSession } from "./session.ts";

interface PageLink {
  readonly href: string;
  readonly name: string;
  readonly icon: IconName;
  /** Hidden from tokens that lack it. */
  readonly scope?: string;
}

const pages: readonly PageLink[] = [
  { href: "/", name: "Overview", icon: "overview" },
  { href: "/plants", name: "Plants", icon: "plants" },
  { href: "/import", name: "Import", icon: "import" },
  { href: "/tokens", name: "Tokens", icon: "tokens", scope: "operator" },
  { href: "/audit", name: "Audit", icon: "audit", scope: "operator" },
  { href: "/system", name: "System", icon: "system", scope: "operator" },
];

// A restart of the service is shorter than this.
const offlineAfterMs = 1500;

const feedLabels: Record<FeedState, string> = {
  connecting: "Connecting",
  live: "Live",
  disconnected: "Reconnecting",
};

/** The header of every page: navigation, the live feed and the account. */
export function Frame({
  onSignOut,
  children,
}: {
  readonly onSignOut: () => void;
  children: ComponentChildren;
}) {
  const { me } = useSession();
  const { path } = useRouter();
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
          {pages.map(({ href, name, icon, scope }) => {
            if (scope !== undefined && !hasScope(me, scope)) return undefined;
            const isCurrent = href === "/" ? path === "/" : path.startsWith(href);
            return (
              <Link
                key={href}
                href={href}
                title={name}
                {...(isCurrent ? { "aria-current": "page" as const } : {})}
              >
                <Icon name={icon} /> <span class="label">{name}</span>
              </Link>
            );
          })}
        </nav>
        <div class="account">
          <ImportIndicator />
          <FeedIndicator />
          <p class="who" title={`Scopes: ${me.scopes.join(", ")}`}>
            <span class="visually-hidden">Signed in as</span> {me.name}
          </p>
          <ThemeButton />
          <button type="button" class="bare" aria-label="Sign out" title="Sign out" onClick={onSignOut}>
            <Icon name="leave" />
          </button>
        </div>
      </header>
      <main id="main" tabIndex={-1}>
        <OfflineNotice />
        {children}
      </main>
    </div>
  );
}

function FeedIndicator() {
  const state = useFeedState();
  return (
    <p class={`light ${state}`} title="Live feed of new plants">
      <span class="label">{feedLabels[state]}</span>
    </p>
  );
}

/** Says, on every page, how long nothing new has arrived; removed once the service is back. */
function OfflineNotice() {
  const { feed } = useSession();
  const state = useFeedState();
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (state !== "disconnected") return;
    const timer = setTimeout(() => setLate(true), offlineAfterMs);
    return () => clearTimeout(timer);
  }, [state]);
  return (
    <div role="status">
      {late && (
        <p class="offline">
          <span class="dot bad" aria-hidden="true" />
          No connection to the service since {formatClock(feed.stateSince)}. This page may be out of date; it
          updates by itself once the service responds.
        </p>
      )}
    </div>
  );
}

function useFeedState(): FeedState {
  const { feed } = useSession();
  const [state, setState] = useState(feed.state);
  useEffect(() => {
    setState(feed.state);
    return feed.subscribe({ onState: setState });
  }, [feed]);
  return state;
}
