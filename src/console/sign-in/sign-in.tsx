import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { CallerJson } from "../../operator/responses.ts";
import { describeError, isRefusal, OperatorApi } from "../api.ts";
import { useConsole } from "../console.ts";
import { Button, CopyButton, Field } from "../parts/controls.tsx";
import { useAttempt } from "../parts/hooks.ts";
import { Leaf } from "../parts/icons.tsx";
import { nameTab } from "../parts/page-head.tsx";
import { type FetchedProvider, fetchSignInProvider, redeemCode, startSignIn } from "./identity-provider.ts";

const createTokenCommand = `plant-store token create \\
  --name ops --scope operator \\
  --scope plants:create`;
const retryMs = 2000;
const badToken = "This token is unknown, expired or revoked.";
const noScope =
  "This token lacks the scope “plants:read”, “operator:read” or “operator”, one of which the console requires.";

/** Asks for a token, unless that of this tab is still accepted. */
export function SignIn() {
  const { session } = useConsole();
  const [token, setToken] = useState("");
  const { isBusy, error, attempt, clearError } = useAttempt();
  const failure = useStoredToken();
  const input = useRef<HTMLInputElement>(null);

  // The stored token is checked within moments, so before that the form would only flash.
  const hasForm = session.token === undefined || failure !== undefined;
  useLayoutEffect(() => {
    nameTab("Sign in");
    input.current?.focus();
  }, [hasForm]);
  const signIn = (entered: string): Promise<void> =>
    attempt(async () => {
      // It takes the place of the stored one, unless none was entered.
      if (entered !== "") session.signOut();
      try {
        session.signIn(entered, await enterToken(entered));
      } catch (reason) {
        input.current?.focus();
        throw new Error(whyTokenRefused(reason) ?? describeError(reason));
      }
    });

  if (!hasForm) return <main class="sign-in" aria-busy="true" />;
  return (
    <main class="sign-in">
      <form
        class="card stack"
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void signIn(token.trim());
        }}
      >
        <h1 class="line">
          <Leaf /> Plant Store
        </h1>
        {session.notice !== undefined && <p class="notice">{session.notice}</p>}
        <ProviderSignIn onToken={signIn} />
        <Field
          label="Token"
          // It is not of type password, because the browser would offer to save the token.
          class="secret"
          placeholder="pst_…"
          inputRef={input}
          value={token}
          // What is typed is another token than the stored one.
          error={error ?? (token === "" ? failure : undefined)}
          onInput={(event) => {
            setToken(event.currentTarget.value);
            clearError();
          }}
        />
        <Button type="submit" class="primary" disabled={isBusy}>
          Sign in
        </Button>
        <section class="stack how">
          <h2>How to get a token</h2>
          <p>
            When the service starts for the first time, it creates a token and prints it, or the file that has
            it. To create another, run this on its host:
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

/** Signs in with the token of this tab, once the service responds. Returns why it has not yet. */
function useStoredToken(): string | undefined {
  const { connection, session } = useConsole();
  const [failure, setFailure] = useState<string>();
  // A layout effect does not wait for a frame, and every page waits for this.
  useLayoutEffect(() => {
    const poll = connection.poll(async (signal) => {
      const { token } = session;
      if (token === undefined) return;
      try {
        const me = await apiOf(token).get("/api/me", {}, signal);
        // Someone may have entered another token meanwhile.
        if (session.token === token) session.signIn(token, me);
      } catch (reason) {
        if (session.token !== token) return;
        const problem = whyTokenRefused(reason);
        setFailure(problem ?? describeError(reason));
        if (problem === undefined) return retryMs;
        session.signOut();
      }
      return;
    });
    return () => poll.stop();
  }, []);
  return failure;
}

/** Signs in with a token that someone has entered. For the audit trail, only that is a sign-in; a reload is not. */
async function enterToken(token: string): Promise<CallerJson> {
  if (token === "") throw new Error("Enter a token.");
  // A header cannot contain other characters, and no token has them.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error(badToken);
  return apiOf(token).post("/api/sign-in", {});
}

function apiOf(token: string): OperatorApi {
  return new OperatorApi(() => token);
}

/** Why the token was refused; undefined if the request failed for another reason. */
function whyTokenRefused(reason: unknown): string | undefined {
  if (isRefusal(reason, "bad-credentials")) return badToken;
  return isRefusal(reason, "lacks-scope") ? noScope : undefined;
}

/** Signing in with the identity provider, if the service has one. */
function ProviderSignIn({ onToken }: { readonly onToken: (token: string) => Promise<void> }) {
  const { connection, session } = useConsole();
  const [provider, setProvider] = useState<FetchedProvider>({});
  const { isBusy, error, attempt } = useAttempt();
  // It asks again until the service responds, and has reached the provider.
  useEffect(() => {
    const poll = connection.poll(async () => {
      const found = await fetchSignInProvider().catch(() => undefined);
      if (found === undefined || poll.isStopped) return retryMs;
      setProvider(found);
      if (isUnreachable(found)) return retryMs;
      const response = session.providerResponse;
      session.providerResponse = undefined;
      if (response !== undefined) void attempt(async () => onToken(await redeemCode(found, response)));
      return;
    });
    return () => poll.stop();
  }, []);

  const problem = error !== undefined && (
    <p class="notice" role="alert">
      {error}
    </p>
  );
  const { issuer } = provider;
  if (issuer === undefined)
    return (
      <>
        <p>Sign in to the console with a token.</p>
        {problem}
      </>
    );
  const name = new URL(issuer).host;
  return (
    <>
      <p>Sign in to the console.</p>
      {isUnreachable(provider) && <p class="notice">The service cannot reach {name}, and tries again.</p>}
      {problem}
      <Button
        class="primary"
        disabled={isBusy || isUnreachable(provider)}
        onClick={() => void attempt(() => startSignIn(provider))}
      >
        Sign in with {name}
      </Button>
      <p class="note">Or use a token of the service:</p>
    </>
  );
}

/** Whether there is a provider whose addresses the service does not know yet. */
function isUnreachable({ issuer, tokenEndpoint }: FetchedProvider): boolean {
  return issuer !== undefined && tokenEndpoint === undefined;
}
