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
import { plantIdOf } from "./plants/plants-address.ts";
import { PlantsPage } from "./plants/plants-page.tsx";
import { RefusedPage } from "./refused/refused-page.tsx";
import { createScope, type Scope } from "./session.ts";
import { SignIn } from "./sign-in/sign-in.tsx";
import { SystemPage } from "./system/system-page.tsx";
import { SecretOnce } from "./tokens/token-dialogs.tsx";
import { TokensPage } from "./tokens/tokens-page.tsx";

interface PageEntry extends PageLink {
  readonly scope: Scope;
  readonly Page: () => JSX.Element;
}

/** Every page, in the order of the navigation. */
const pages: readonly PageEntry[] = [
  { href: "/", name: "Overview", icon: "overview", scope: "operator:read", Page: OverviewPage },
  { href: "/plants", name: "Plants", icon: "plants", scope: "plants:read", Page: PlantsPage },
  { href: "/import", name: "Import", icon: "import", scope: createScope, Page: ImportPage },
  { href: "/tokens", name: "Tokens", icon: "tokens", scope: "operator", Page: TokensPage },
  { href: "/refused", name: "Refused", icon: "refused", scope: "operator", Page: RefusedPage },
  { href: "/audit", name: "Audit", icon: "audit", scope: "operator", Page: AuditPage },
  { href: "/system", name: "System", icon: "system", scope: "operator", Page: SystemPage },
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

function SignedIn() {
  const { session } = useConsole();
  const { path } = useRouter();
  // Whoever may only read plants begins there.
  const start = session.may("operator:read") ? "/" : "/plants";
  // The details of a plant are shown on the page of all plants.
  const pagePath = plantIdOf(path) === undefined ? path : "/plants";
  const page = pages.find(({ href }) => href === (pagePath === "/" ? start : pagePath));
  return (
    <Frame pages={pages.filter(({ scope }) => session.may(scope))} currentPage={page}>
      <CrashBoundary key={path.split("/")[1]}>
        {page !== undefined && session.may(page.scope) ? <page.Page /> : <NoPage path={path} page={page} />}
      </CrashBoundary>
    </Frame>
  );
}

// A title that quotes more of a path is no longer one.
const pathCharactersMax = 60;

interface NoPageProps {
  readonly path: string;
  /** The page that is there for other tokens. */
  readonly page: PageEntry | undefined;
}

/** What is shown where there is no page, or none for this token. */
function NoPage({ path, page }: NoPageProps) {
  return (
    <>
      <PageHead title={page?.name ?? "Page not found"} />
      {page === undefined ? (
        <EmptyState title={`There is nothing at ${shortened(path, pathCharactersMax)}`}>
          <Link class="button" href="/">
            Go to the start
          </Link>
        </EmptyState>
      ) : (
        <EmptyState title="Your token may not use this page">
          <p>Sign in with a token that has the scope “{page.scope}”.</p>
        </EmptyState>
      )}
    </>
  );
}
