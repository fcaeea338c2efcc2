import { useCallback, useRef, useState } from "preact/hooks";
import type { CallerJson, MintedTokenJson } from "../operator/responses.ts";
import { readStored, removeStored, writeStored } from "./browser-storage.ts";
import { TabImports } from "./import/tab-imports.ts";
import { RouterContext, useBrowserLocation } from "./router.tsx";
import type { SignInResponse } from "./sign-in/identity-provider.ts";
import { SignIn } from "./sign-in/sign-in.tsx";
import { SignedIn } from "./signed-in.tsx";
import { SecretOnce } from "./tokens/token-dialogs.tsx";

// Session storage is cleared when the tab closes; without it, the token is forgotten at the next load. It is sent only in the
// Authorization header.
const tokenKey = "plant-store-token";

/** Who is signed in to the console in this tab, and what outlives a session: an import, and a secret that was just created. */
export function App({ signInResponse }: { readonly signInResponse: SignInResponse | undefined }) {
  const router = useBrowserLocation();
  const [me, setMe] = useState<CallerJson>();
  const [token, setToken] = useState(() => readStored("sessionStorage", tokenKey));
  const [notice, setNotice] = useState<string>();
  const [minted, setMinted] = useState<MintedTokenJson>();
  const [imports] = useState(() => new TabImports());
  const responseRef = useRef(signInResponse);

  // Called directly if the service no longer accepts the token: the next session then still has the files of this one, and can
  // resume its import.
  const endSession = useCallback((message?: string) => {
    removeStored("sessionStorage", tokenKey);
    imports.stop();
    setToken(undefined);
    setMe(undefined);
    setNotice(message);
  }, []);
  // Called for the user: the next session has nothing of this one, except an import that this interrupts.
  const signOut = (): void => {
    imports.forget();
    endSession();
  };
  const signIn = (accepted: string, caller: CallerJson): void => {
    writeStored("sessionStorage", tokenKey, accepted);
    setToken(accepted);
    setMe(caller);
    setNotice(undefined);
  };

  return (
    <RouterContext.Provider value={router}>
      {token !== undefined && me !== undefined ? (
        <SignedIn
          key={token}
          token={token}
          me={me}
          imports={imports}
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
