import type { JSX } from "preact";
import { shortened } from "../text/cut-text.ts";
import { AuditPage } from "./audit/audit-page.tsx";
import { useConsole, useObserved, useRouter } from "./console.ts";
import { Frame, type PageLink } from "./frame.tsx";
import { ImportPage } from "./import/import-page.tsx";
import { OverviewPage } from "./overview/overview-page.tsx";
import { EmptyState } from "./parts/content-states.tsx";
import { CrashBoundary } from "./parts/crash-boundary.tsx";
import { Link } from "./parts/link.tsx";
import { PageHead } from "./parts/page-head.tsx";
import { PlantsPage, plantIdOf } from "./plants/plants-page.tsx";
import { RefusedPage } from "./refused/refused-page.tsx";
import type { Scope } from "./session.ts";
import { SignIn } from "./sign-in/sign-in.tsx";
import { SystemPage } from "./system/system-page.tsx";
import { SecretOnce } from "./tokens/token-dialogs.tsx";
import { TokensPage } from "./tokens/tokens-page.tsx";

interface Entry extends PageLink {
  /** A page is hidden from tokens that lack one of its scopes. */
  readonly scopes: readonly Scope[];
  readonly Page: () => JSX.Element;
}

/** The entries of the navigation. */
const entries: readonly Entry[] = [
  { href: "/", name: "Overview", icon: "overview", scopes: ["operator:read"], Page: OverviewPage },
  { href: "/plants", name: "Plants", icon: "plants", scopes: ["plants:read"], Page: PlantsPage },
  { href: "/refused", name: "Refused", icon: "refused", scopes: ["operator"], Page: RefusedPage },
  { href: "/tokens", name: "Tokens", icon: "tokens", scopes: ["operator"], Page: TokensPage },
  { href: "/system", name: "System", icon: "system", scopes: ["operator"], Page: SystemPage },
];

/** Every page. Other pages have a button that leads to those that are not in the navigation. */
const pages: readonly Omit<Entry, "icon">[] = [
  ...entries,
  { href: "/import", name: "Import", scopes: ["plants:create", "operator:read"], Page: ImportPage },
  { href: "/audit", name: "Audit", scopes: ["operator"], Page: AuditPage },
];

/** The sign-in, or the page at the path in the address bar. */
export function App() {
  const { session } = useConsole();
  const { caller, minted } = useObserved(session);
  return (
    <>
      {caller === undefined ? <SignIn /> : <SignedIn />}
      {minted !== undefined && <SecretOnce minted={minted} onClose={() => session.showSecret(undefined)} />}
    </>
  );
}

// A title that quotes more of a path is no longer one.
const pathCharactersMax = 60;

function SignedIn() {
  const { session } = useConsole();
  const { path } = useRouter();
  // Whoever may only read plants begins there.
  const start = session.may("operator:read") ? "/" : "/plants";
  // The details of a plant are shown on the page of all plants.
  const pagePath = plantIdOf(path) === undefined ? path : "/plants";
  const page = pages.find(({ href }) => href === (pagePath === "/" ? start : pagePath));
  const lacking = page?.scopes.find((scope) => !session.may(scope));
  return (
    <Frame
      entries={entries.filter(({ scopes }) => scopes.every((scope) => session.may(scope)))}
      current={page?.href}
    >
      <CrashBoundary key={page?.href}>
        {page === undefined && (
          <>
            <PageHead title="Page not found" />
            <EmptyState title={`There is nothing at ${shortened(path, pathCharactersMax)}`}>
              <Link class="button" href="/">
                Go to the start
              </Link>
            </EmptyState>
          </>
        )}
        {page !== undefined && lacking === undefined && <page.Page />}
        {lacking !== undefined && (
          <>
            <PageHead title={page?.name ?? ""} />
            <EmptyState title="Your token may not use this page">
              <p>Sign in with a token that has the scope “{lacking}”.</p>
            </EmptyState>
          </>
        )}
      </CrashBoundary>
    </Frame>
  );
}
