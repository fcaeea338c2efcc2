import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { CallerJson } from "../../operator/responses.ts";
import { errorMessage, isRefusal, OperatorApi } from "../api.ts";
import { Button, CopyButton, Field } from "../parts/controls.tsx";
import { useAttempt } from "../parts/hooks.ts";
import { Leaf } from "../parts/icons.tsx";
import { nameTab } from "../parts/page-head.tsx";
import {
  type FetchedProvider,
  fetchProvider,
  redeemCode,
  type SignInResponse,
  startSignIn,
} from "./identity-provider.ts";

const createTokenCommand = `plant-store token create \\
  --name ops --scope operator \\
  --scope plants:create`;
const retryMs = 2000;
const noToken = "Enter a token.";
const badToken = "This token is unknown, expired or revoked.";
const noScope = "This token lacks the scope “operator:read” or “operator”, which the console requires.";

interface SignInProps {
  /** The token of this tab, which is tried without asking. */
  readonly storedToken: string | undefined;
  readonly notice: string | undefined;
  /** What the identity provider has sent back. It can be used once. */
  readonly responseRef: { current: SignInResponse | undefined };
  readonly onSignIn: (token: string, me: CallerJson) => void;
  readonly onForget: () => void;
}

export function SignIn({ storedToken, notice, responseRef, onSignIn, onForget }: SignInProps) {
  const [token, setToken] = useState("");
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const retry = useRef<ReturnType<typeof setTimeout>>(undefined);

  const signIn = async (candidate: string): Promise<void> => {
    clearTimeout(retry.current);
    setBusy(true);
    try {
      const api = new OperatorApi(candidate, () => {});
      // For the audit trail, only a token that was typed in is a sign-in; a reload is not.
      const me: CallerJson =
        candidate === storedToken ? await api.get("/api/me") : await api.post("/api/sign-in", {});
      onSignIn(candidate, me);
    } catch (reason) {
      const problem = tokenProblem(reason);
      setError(problem ?? errorMessage(reason));
      setBusy(false);
      if (candidate === storedToken && problem !== undefined) onForget();
      // The service was unavailable, the token not wrong: try the tab's token until it is back.
      if (candidate === storedToken && problem === undefined)
        retry.current = setTimeout(() => void signIn(candidate), retryMs);
      input.current?.focus();
    }
  };
  // A layout effect does not wait for a frame, and every page waits for this.
  useLayoutEffect(() => {
    nameTab("Sign in");
    if (storedToken !== undefined) void signIn(storedToken);
    else input.current?.focus();
    return () => clearTimeout(retry.current);
  }, []);

  // The stored token is checked within moments, so the form would only flash.
  if (storedToken !== undefined && error === undefined) return <main class="sign-in" aria-busy="true" />;
  return (
    <main class="sign-in">
      <form
        class="card stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          const candidate = token.trim();
          // A header cannot contain other characters, and no token has them.
          if (candidate === "") setError(noToken);
          else if (!/^[\x21-\x7e]+$/.test(candidate)) setError(badToken);
          else void signIn(candidate);
        }}
      >
        <h1 class="line">
          <Leaf /> Plant Store
        </h1>
        {notice !== undefined && <p class="notice">{notice}</p>}
        <ProviderSignIn responseRef={responseRef} onToken={signIn} />
        <Field
          label="Token"
          // It is not of type password, because the browser would offer to save the token.
          class="secret"
          placeholder="pst_…"
          inputRef={input}
          value={token}
          error={error}
          onInput={(event) => {
            setToken(event.currentTarget.value);
            setError(undefined);
          }}
        />
        <Button type="submit" class="primary" disabled={busy}>
          Sign in
        </Button>
        <section class="stack how">
          <h2>How to get a token</h2>
          <p>
            The service creates a token when it starts for the first time, and its greeting says where. To
            create another, run this on its host:
          </p>
          <pre class="code">{createTokenCommand}</pre>
          <div class="line">
            <CopyButton text={createTokenCommand} label="Copy command" />
          </div>
          <p class="note">The token is stored in this tab only, until you close it.</p>
        </section>
      </form>
    </main>
  );
}

/** What is wrong with the token; undefined if the request failed for another reason. */
function tokenProblem(reason: unknown): string | undefined {
  if (isRefusal(reason, "no-credentials")) return noToken;
  if (isRefusal(reason, "bad-credentials")) return badToken;
  return isRefusal(reason, "lacks-scope") ? noScope : undefined;
}

interface ProviderSignInProps extends Pick<SignInProps, "responseRef"> {
  readonly onToken: (token: string) => Promise<void>;
}

/** Signing in with the identity provider, if the service has one. */
function ProviderSignIn({ responseRef, onToken }: ProviderSignInProps) {
  const [provider, setProvider] = useState<FetchedProvider>({});
  const { busy, error, attempt } = useAttempt();
  useEffect(() => {
    void attempt(async () => {
      const response = responseRef.current;
      responseRef.current = undefined;
      const found = await fetchProvider().catch(() => ({}));
      setProvider(found);
      if (response !== undefined) await onToken(await redeemCode(found, response));
    });
  }, []);

  const { issuer, authorizationEndpoint, tokenEndpoint } = provider;
  if (issuer === undefined) return <p>Sign in to the console with a token.</p>;
  const reachable = authorizationEndpoint !== undefined && tokenEndpoint !== undefined;
  const name = new URL(issuer).host;
  return (
    <>
      <p>Sign in to the console.</p>
      {!reachable && <p class="notice">The service cannot reach {name}. Reload the page to try again.</p>}
      {error !== undefined && (
        <p class="notice" role="alert">
          {error}
        </p>
      )}
      <Button
        class="primary"
        disabled={busy || !reachable}
        onClick={() => void attempt(() => startSignIn(provider))}
      >
        Sign in with {name}
      </Button>
      <p class="note">Or use a token of the service:</p>
    </>
  );
}
