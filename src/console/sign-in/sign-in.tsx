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
const noToken = "Enter a token.";
const badToken = "This token is unknown, expired or revoked.";
const noScope =
  "This token lacks the scope “plants:read”, “operator:read” or “operator”, one of which the console requires.";

/** Asks for a token, unless that of this tab is still accepted. */
export function SignIn() {
  const { session } = useConsole();
  const [token, setToken] = useState("");
  const { isBusy, error, attempt, clearError } = useAttempt();
  const stored = useStoredToken();
  const input = useRef<HTMLInputElement>(null);

  // The stored token is checked within moments, so before that the form would only flash.
  const hasForm = session.token === undefined || stored.failure !== undefined;
  useLayoutEffect(() => {
    nameTab("Sign in");
    input.current?.focus();
  }, [hasForm]);
  const signIn = (entered: string): Promise<void> =>
    attempt(async () => {
      // If none was entered, the stored one may still be accepted.
      if (entered !== "") stored.stop();
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
          error={error ?? (token === "" ? stored.failure : undefined)}
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

/** Signs in with the token of this tab, once the service responds, unless `stop` is called. `failure` says why it has not yet. */
function useStoredToken() {
  const { connection, session } = useConsole();
  const [failure, setFailure] = useState<string>();
  const [stopped] = useState(() => new AbortController());
  // A layout effect does not wait for a frame, and every page waits for this.
  useLayoutEffect(() => {
    const { token } = session;
    if (token === undefined) return;
    const poll = connection.poll(async (signal) => {
      try {
        const me = await apiOf(token).get("/api/me", {}, signal);
        if (!poll.isStopped) session.signIn(token, me);
      } catch (reason) {
        // Someone has entered another token meanwhile.
        if (poll.isStopped) return retryMs;
        const problem = whyTokenRefused(reason);
        setFailure(problem ?? describeError(reason));
        if (problem === undefined) return retryMs;
        session.signOut();
      }
      poll.stop();
      return retryMs;
    });
    stopped.signal.addEventListener("abort", () => poll.stop());
    return () => poll.stop();
  }, []);
  return { failure, stop: () => stopped.abort() };
}

/** Signs in with a token that someone has entered. For the audit trail, only that is a sign-in; a reload is not. */
async function enterToken(token: string): Promise<CallerJson> {
  if (token === "") throw new Error(noToken);
  // A header cannot contain other characters, and no token has them.
  if (!/^[\x21-\x7e]+$/.test(token)) throw new Error(badToken);
  return apiOf(token).post("/api/sign-in", {});
}

function apiOf(token: string): OperatorApi {
  return new OperatorApi(() => token);
}

/** Why the token was refused; undefined if the request failed for another reason. */
function whyTokenRefused(reason: unknown): string | undefined {
  if (isRefusal(reason, "no-credentials")) return noToken;
  if (isRefusal(reason, "bad-credentials")) return badToken;
  return isRefusal(reason, "lacks-scope") ? noScope : undefined;
}

interface ProviderSignInProps {
  readonly onToken: (token: string) => Promise<void>;
}

/** Signing in with the identity provider, if the service has one. */
function ProviderSignIn({ onToken }: ProviderSignInProps) {
  const { connection, session } = useConsole();
  const [provider, setProvider] = useState<FetchedProvider>({});
  const { isBusy, error, attempt } = useAttempt();
  // It asks again until the service responds, and has reached the provider.
  useEffect(() => {
    const poll = connection.poll(async () => {
      const found = await fetchSignInProvider().catch(() => undefined);
      if (found === undefined || poll.isStopped) return retryMs;
      setProvider(found);
      if (found.issuer !== undefined && !isReachable(found)) return retryMs;
      poll.stop();
      const response = session.providerResponse;
      session.providerResponse = undefined;
      if (response !== undefined) void attempt(async () => onToken(await redeemCode(found, response)));
      return retryMs;
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
      {!isReachable(provider) && <p class="notice">The service cannot reach {name}, and tries again.</p>}
      {problem}
      <Button
        class="primary"
        disabled={isBusy || !isReachable(provider)}
        onClick={() => void attempt(() => startSignIn(provider))}
      >
        Sign in with {name}
      </Button>
      <p class="note">Or use a token of the service:</p>
    </>
  );
}

function isReachable({ authorizationEndpoint, tokenEndpoint }: FetchedProvider): boolean {
  return authorizationEndpoint !== undefined && tokenEndpoint !== undefined;
}
