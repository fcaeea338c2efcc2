import { useEffect, useMemo, useState } from "preact/hooks";
import type { CallerJson, MintedTokenJson } from "../operator/responses.ts";
import { OperatorApi } from "./api.ts";
import { ServiceConnection } from "./connection.ts";
import { Frame } from "./frame.tsx";
import type { TabImports } from "./import/tab-imports.ts";
import { pageAt, pages, RoutedPage } from "./pages.tsx";
import { CrashBoundary } from "./parts/crash-boundary.tsx";
import { FormDialog } from "./parts/dialog.tsx";
import { useWindowEvent } from "./parts/hooks.ts";
import { AddPlant } from "./plants/add-plant.tsx";
import { useRouter } from "./router.tsx";
import { type Session, SessionContext } from "./session.ts";

const tokenEnded = "This token has expired or was revoked. Sign in with another one.";
const sessionEnded = "Your session has ended. Sign in again.";

interface SignedInProps {
  readonly token: string;
  readonly me: CallerJson;
  readonly imports: TabImports;
  readonly onSecret: (minted: MintedTokenJson) => void;
  readonly onSignOut: () => void;
  readonly onTokenEnded: (message: string) => void;
}

/** The console while the user is signed in: the page that is open, and the dialogs that any page can open. */
export function SignedIn({ token, me, imports, onSecret, onSignOut, onTokenEnded }: SignedInProps) {
  const { path } = useRouter();
  const [isAdding, setIsAdding] = useState(false);
  const [isLeaving, setIsLeaving] = useState(false);
  // Once for each token: a new connection starts to ping the service at once, and the effect stops it.
  const connection = useMemo(() => new ServiceConnection(), [token]);
  useEffect(() => () => connection.stop(), [connection]);
  const api = useMemo(() => {
    const onUnauthorized = (): void => onTokenEnded(me.hasJwt ? sessionEnded : tokenEnded);
    return new OperatorApi(token, onUnauthorized, (responded) => connection.report(responded));
  }, [token, connection, me.hasJwt, onTokenEnded]);
  // The browser asks for confirmation before it closes the tab during an import.
  useWindowEvent("beforeunload", (event) => {
    if (imports.isImporting) event.preventDefault();
  });
  const session: Session = useMemo(
    () => ({ api, connection, me, imports, addPlant: () => setIsAdding(true), showSecret: onSecret }),
    [api, connection, me, imports, onSecret],
  );
  return (
    <SessionContext.Provider value={session}>
      <Frame
        pages={pages}
        currentPage={pageAt(path)}
        onSignOut={() => {
          if (imports.isImporting) setIsLeaving(true);
          else onSignOut();
        }}
      >
        <CrashBoundary key={path.split("/")[1]}>
          <RoutedPage />
        </CrashBoundary>
      </Frame>
      {isAdding && <AddPlant onClose={() => setIsAdding(false)} />}
      {isLeaving && (
        <FormDialog
          title="An import is running"
          submit="Sign out"
          cancel="Stay signed in"
          onSubmit={async () => onSignOut()}
          onClose={() => setIsLeaving(false)}
        >
          <p>Signing out stops it. Once you sign in again in this tab, you can resume it where it stopped.</p>
        </FormDialog>
      )}
    </SessionContext.Provider>
  );
}
