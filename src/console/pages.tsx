import type { JSX } from "preact";
import { shortened } from "../text/cut-text.ts";
import { AuditPage } from "./audit/audit-page.tsx";
import type { PageLink } from "./frame.tsx";
import { ImportPage } from "./import/import-page.tsx";
import { OverviewPage } from "./overview/overview-page.tsx";
import { EmptyState } from "./parts/content-states.tsx";
import { PageHead } from "./parts/page-head.tsx";
import { plantIdOf } from "./plants/plants-address.ts";
import { PlantsPage } from "./plants/plants-page.tsx";
import { RefusedPage } from "./refused/refused-page.tsx";
import { Link, useRouter } from "./router.tsx";
import { createScope, hasScope, type Scope, useSession } from "./session.ts";
import { SystemPage } from "./system/system-page.tsx";
import { TokensPage } from "./tokens/tokens-page.tsx";

/** Every page, in the order of the navigation. */
export const pages: readonly (PageLink & { readonly Page: () => JSX.Element })[] = [
  { href: "/", name: "Overview", icon: "overview", scope: "operator:read", Page: OverviewPage },
  { href: "/plants", name: "Plants", icon: "plants", Page: PlantsPage },
  { href: "/import", name: "Import", icon: "import", scope: createScope, Page: ImportPage },
  { href: "/tokens", name: "Tokens", icon: "tokens", scope: "operator", Page: TokensPage },
  { href: "/refused", name: "Refused", icon: "refused", scope: "operator", Page: RefusedPage },
  { href: "/audit", name: "Audit", icon: "audit", scope: "operator", Page: AuditPage },
  { href: "/system", name: "System", icon: "system", scope: "operator", Page: SystemPage },
];

// A title that quotes more of a path is no longer one.
const pathCharactersMax = 60;

/** The page at a path; undefined if there is none. */
export function pageAt(path: string) {
  // The details of a plant are shown on the page of all plants.
  const pagePath = plantIdOf(path) === undefined ? path : "/plants";
  return pages.find(({ href }) => href === pagePath);
}

/** The page at the path in the address bar. */
export function RoutedPage() {
  const { path } = useRouter();
  const { me } = useSession();
  // Whoever may only read plants begins there.
  const page = pageAt(path === "/" && !hasScope(me, "operator:read") ? "/plants" : path);
  if (page === undefined) return <PageNotFound path={path} />;
  if (page.scope !== undefined && !hasScope(me, page.scope))
    return <MissingScope title={page.name} scope={page.scope} />;
  return <page.Page />;
}

function PageNotFound({ path }: { readonly path: string }) {
  return (
    <>
      <PageHead title="Page not found" />
      <EmptyState title={`There is nothing at ${shortened(path, pathCharactersMax)}`}>
        <Link class="button" href="/">
          Go to the overview
        </Link>
      </EmptyState>
    </>
  );
}

/** What is shown in place of a page that the token may not use. */
function MissingScope({ title, scope }: { readonly title: string; readonly scope: Scope }) {
  return (
    <>
      <PageHead title={title} />
      <EmptyState title="Your token may not use this page">
        <p>Sign in with a token that has the scope “{scope}”.</p>
      </EmptyState>
    </>
  );
}
