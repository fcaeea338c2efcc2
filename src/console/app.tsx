import type { JSX } from "preact";
import { useCallback, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { CallerJson, MintedTokenJson } from "../operator/responses.ts";
import { OperatorApi } from "./api.ts";
import { AuditPage } from "./audit/audit-page.tsx";
import { readStored, removeStored, writeStored } from "./browser-storage.ts";
import { ServiceConnection } from "./connection.ts";
import { Frame, type PageLink } from "./frame.tsx";
import { ImportPage } from "./import/import-page.tsx";
import type { ImportRun } from "./import/import-run.ts";
import { OverviewPage } from "./overview/overview-page.tsx";
import { EmptyState } from "./parts/content-states.tsx";
import { CrashBoundary } from "./parts/crash-boundary.tsx";
import { FormDialog } from "./parts/dialog.tsx";
import { PageHead } from "./parts/page-head.tsx";
import { AddPlant } from "./plants/add-plant.tsx";
import { PlantsPage, plantIdOf } from "./plants/plants-page.tsx";
import { RefusedPage } from "./refused/refused-page.tsx";
import { Link, RouterContext, useBrowserLocation, useRouter } from "./router.tsx";
import { createScope, hasScope, type Scope, type Session, SessionContext, useSession } from "./session.ts";
import type { SignInResponse } from "./sign-in/identity-provider.ts";
import { SignIn } from "./sign-in/sign-in.tsx";
import { SystemPage } from "./system/system-page.tsx";
import { SecretOnce } from "./tokens/token-dialogs.tsx";
import { TokensPage } from "./tokens/tokens-page.tsx";

const pathCharactersMax = 60;
// Session storage is cleared when the tab closes; without it, the token is forgotten at the next load. It is sent only in the
// Authorization header.
const tokenKey = "plant-store-token";
const tokenEnded = "This token has expired or was revoked. Sign in with another one.";
const sessionTokenEnded = "Your session has ended. Sign in again.";

const pages: readonly (PageLink & { readonly Page: () => JSX.Element })[] = [
  { href: "/", name: "Overview", icon: "overview", Page: OverviewPage },
  { href: "/plants", name: "Plants", icon: "plants", Page: PlantsPage },
  { href: "/import", name: "Import", icon: "import", scope: createScope, Page: ImportPage },
  { href: "/tokens", name: "Tokens", icon: "tokens", scope: "operator", Page: TokensPage },
  { href: "/refused", name: "Refused", icon: "refused", scope: "operator", Page: RefusedPage },
  { href: "/audit", name: "Audit", icon: "audit", scope: "operator", Page: AuditPage },
  { href: "/system", name: "System", icon: "system", scope: "operator", Page: SystemPage },
];

export function App({ signInResponse }: { readonly signInResponse: SignInResponse | undefined }) {
  const router = useBrowserLocation();
  const [me, setMe] = useState<CallerJson>();
  const [token, setToken] = useState(() => readStored("sessionStorage", tokenKey));
  const [notice, setNotice] = useState<string>();
  const [minted, setMinted] = useState<MintedTokenJson>();
  const responseRef = useRef(signInResponse);
  const importRef = useRef<ImportRun>(undefined);
  const checkRef = useRef<ImportRun>(undefined);

  // Called directly if the service no longer accepts the token: the next session then still has the files of this one, and can
  // resume its import.
  const endSession = useCallback((message?: string) => {
    removeStored("sessionStorage", tokenKey);
    importRef.current?.stop();
    checkRef.current?.stop();
    setToken(undefined);
    setMe(undefined);
    setNotice(message);
  }, []);
  // Called for the user: the next session has nothing of this one, except an import that this interrupts.
  const signOut = (): void => {
    const isInterrupted = importRef.current?.isImporting;
    endSession();
    if (!isInterrupted) importRef.current = undefined;
    checkRef.current = undefined;
  };
  const signIn = (token: string, me: CallerJson): void => {
    writeStored("sessionStorage", tokenKey, token);
    setToken(token);
    setMe(me);
    setNotice(undefined);
  };

  return (
    <RouterContext.Provider value={router}>
      {token !== undefined && me !== undefined ? (
        <SignedIn
          key={token}
          token={token}
          me={me}
          importRef={importRef}
          checkRef={checkRef}
          onSecret={setMinted}
          onSignOut={signOut}
          onTokenEnded={endSession}
        />
      ) : (
        <SignIn
          storedToken={token}
          notice={notice}
          responseRef={responseRef}
          onSignIn={signIn}
          onForget={signOut}
        />
      )}
      {minted !== undefined && <SecretOnce minted={minted} onClose={() => setMinted(undefined)} />}
    </RouterContext.Provider>
  );
}

interface SignedInProps extends Pick<Session, "importRef" | "checkRef"> {
  readonly token: string;
  readonly me: CallerJson;
  readonly onSecret: (minted: MintedTokenJson) => void;
  readonly onSignOut: () => void;
  readonly onTokenEnded: (message: string) => void;
}

function SignedIn({ token, me, importRef, checkRef, onSecret, onSignOut, onTokenEnded }: SignedInProps) {
  const { path } = useRouter();
  const [adding, setAdding] = useState(false);
  const [leaving, setLeaving] = useState(false);
  // Once for each token: a new connection starts to ping the service at once, and the effect below stops it.
  const { api, connection } = useMemo(() => {
    const connection = new ServiceConnection();
    // A JWT, which a session has, is three parts with dots between them; a secret that was minted has no dot.
    const onUnauthorized = (): void => onTokenEnded(token.includes(".") ? sessionTokenEnded : tokenEnded);
    const api = new OperatorApi(token, onUnauthorized, (responded) => connection.report(responded));
    return { api, connection };
  }, [token, onTokenEnded]);
  useEffect(() => () => connection.stop(), [connection]);
  useEffect(() => {
    // The browser asks for confirmation before it closes the tab during an import.
    const warn = (event: Event): void => {
      if (importRef.current?.isImporting) event.preventDefault();
    };
    addEventListener("beforeunload", warn);
    return () => removeEventListener("beforeunload", warn);
  }, []);
  const session: Session = useMemo(
    () => ({
      api,
      connection,
      me,
      importRef,
      checkRef,
      addPlant: () => setAdding(true),
      showSecret: onSecret,
    }),
    [api, connection, me, importRef, checkRef, onSecret],
  );
  return (
    <SessionContext.Provider value={session}>
      <Frame
        pages={pages}
        onSignOut={() => {
          if (importRef.current?.isImporting) setLeaving(true);
          else onSignOut();
        }}
      >
        <CrashBoundary key={path.split("/")[1]}>
          <Page />
        </CrashBoundary>
      </Frame>
      {adding && <AddPlant onClose={() => setAdding(false)} />}
      {leaving && (
        <FormDialog
          title="An import is running"
          submit="Sign out"
          cancel="Stay signed in"
          busy={false}
          onSubmit={async () => onSignOut()}
          onClose={() => setLeaving(false)}
        >
          <p>Signing out stops it. Once you sign in again in this tab, you can resume it where it stopped.</p>
        </FormDialog>
      )}
    </SessionContext.Provider>
  );
}

function Page() {
  const { path } = useRouter();
  const { me } = useSession();
  // The details of a plant are shown on the page of all plants.
  const pagePath = plantIdOf(path) === undefined ? path : "/plants";
  const page = pages.find(({ href }) => href === pagePath);
  if (page?.scope !== undefined && !hasScope(me, page.scope))
    return <MissingScope title={page.name} scope={page.scope} />;
  if (page !== undefined) return <page.Page />;
  return (
    <>
      <PageHead title="Page not found" />
      <EmptyState title={`There is nothing at ${path.slice(0, pathCharactersMax)}`}>
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
