import type { ComponentChildren } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Connection } from "./connection.ts";
import { formatClock } from "./format.ts";
import { ImportIndicator } from "./import/import-indicator.tsx";
import { Icon, type IconName, Leaf } from "./parts/icons.tsx";
import { Link } from "./parts/link.tsx";
import { ThemeButton } from "./parts/theme.tsx";
import { useRouter } from "./router.ts";
import { createScope, hasScope, useSession } from "./session.ts";

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
  { href: "/import", name: "Import", icon: "import", scope: createScope },
  { href: "/tokens", name: "Tokens", icon: "tokens", scope: "operator" },
  { href: "/audit", name: "Audit", icon: "audit", scope: "operator" },
  { href: "/system", name: "System", icon: "system", scope: "operator" },
];

// A restart of the service is shorter than this.
const offlineAfterMs = 1500;

/** The header of every page: navigation, whether the page is live, and the account. */
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
          <LiveIndicator />
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

/** On a page that shows new plants as they are stored, and on every page while the service does not respond. */
function LiveIndicator() {
  const { isLost, isPolling } = useConnection();
  if (isLost)
    return (
      <p class="light disconnected" title="The service does not respond">
        <span class="label">Reconnecting</span>
      </p>
    );
  return isPolling ? (
    <p class="light live" title="New plants appear as they are stored">
      <span class="label">Live</span>
    </p>
  ) : null;
}

/** Says, on every page, how long the service has not responded; removed once it is back. */
function OfflineNotice() {
  const { isLost, since } = useConnection();
  const [late, setLate] = useState(false);
  useEffect(() => {
    setLate(false);
    if (!isLost) return;
    const timer = setTimeout(() => setLate(true), offlineAfterMs);
    return () => clearTimeout(timer);
  }, [isLost]);
  return (
    <div role="status">
      {late && (
        <p class="offline">
          <span class="dot bad" aria-hidden="true" />
          No connection to the service since {formatClock(since)}. This page may be out of date; it updates by
          itself once the service responds.
        </p>
      )}
    </div>
  );
}

function useConnection(): Pick<Connection, "isLost" | "since" | "isPolling"> {
  const { connection } = useSession();
  const read = () => {
    const { isLost, since, isPolling } = connection;
    return { isLost, since, isPolling };
  };
  const [state, setState] = useState(read);
  // A page starts to poll before this effect.
  useEffect(() => {
    setState(read());
    return connection.subscribe({ onChange: () => setState(read()) });
  }, [connection]);
  return state;
}
