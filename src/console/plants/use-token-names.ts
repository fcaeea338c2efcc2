import { useEffect, useState } from "preact/hooks";
import type { Token } from "../api-shapes.ts";
import { hasScope, useSession } from "../session.ts";

/** The names of all tokens, as suggestions; none if the token may not list them. */
export function useTokenNames(): readonly string[] {
  const { api, me } = useSession();
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    if (!hasScope(me, "operator")) return;
    const abort = new AbortController();
    api
      .get<{ tokens: readonly Token[] }>("/api/tokens", abort.signal)
      .then(({ tokens }) => setNames([...new Set(tokens.map(({ name }) => name))]))
      // The filter works without suggestions.
      .catch(() => {});
    return () => abort.abort();
  }, [api, me]);
  return names;
}
