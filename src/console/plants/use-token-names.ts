import { useEffect, useState } from "preact/hooks";
import type { Token } from "../api-shapes.ts";
import { useSession } from "../session.ts";

/** The names of all tokens, as suggestions. */
export function useTokenNames(): readonly string[] {
  const { api } = useSession();
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    const abort = new AbortController();
    api
      .get<{ tokens: readonly Token[] }>("/api/tokens", abort.signal)
      .then(({ tokens }) => setNames([...new Set(tokens.map(({ name }) => name))]))
      // The filter works without suggestions.
      .catch(() => {});
    return () => abort.abort();
  }, [api]);
  return names;
}
