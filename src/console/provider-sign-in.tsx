import { useEffect, useState } from "preact/hooks";
import { errorMessage } from "./api.ts";
import {
  fetchProvider,
  type IdentityProvider,
  redeem,
  type SignInResponse,
  startSignIn,
} from "./identity-provider.ts";

interface ProviderSignInProps {
  /** What the provider has sent back; used once. */
  readonly responseRef: { current: SignInResponse | undefined };
  readonly onToken: (token: string) => Promise<void>;
}

/** Signing in with the identity provider, if the service has one. */
export function ProviderSignIn({ responseRef, onToken }: ProviderSignInProps) {
  const [provider, setProvider] = useState<IdentityProvider>({});
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(responseRef.current !== undefined);

  const attempt = async (work: () => Promise<void>): Promise<void> => {
    setBusy(true);
    setError(undefined);
    try {
      await work();
    } catch (reason) {
      setError(errorMessage(reason));
    }
    setBusy(false);
  };
  useEffect(() => {
    void attempt(async () => {
      const response = responseRef.current;
      responseRef.current = undefined;
      const found = await fetchProvider().catch(() => ({}));
      setProvider(found);
      if (response !== undefined) await onToken(await redeem(found, response));
    });
  }, []);

  const { issuer, authorizationEndpoint, tokenEndpoint } = provider;
  if (issuer === undefined) return <p class="lead">Sign in to the console with a token.</p>;
  const reachable = authorizationEndpoint !== undefined && tokenEndpoint !== undefined;
  const name = new URL(issuer).host;
  return (
    <div class="provider">
      <p class="lead">Sign in to the console.</p>
      {!reachable && <p class="notice">The service cannot reach {name}. Reload the page to try again.</p>}
      {error !== undefined && (
        <p class="notice" role="alert">
          {error}
        </p>
      )}
      <button
        type="button"
        class="primary wide"
        disabled={busy || !reachable}
        onClick={() => void attempt(() => startSignIn(provider))}
      >
        Sign in with {name}
      </button>
      <p class="hint">Or use a token of the service:</p>
    </div>
  );
}
