import { useEffect, useState } from "preact/hooks";
import type { Token } from "../api-shapes.ts";
import { useSurroundings } from "../session.ts";

/** The names that plants can have been sent by, for suggesting them. */
export function useTokenNames(): readonly string[] {
  const { api } = useSurroundings();
  const [names, setNames] = useState<readonly string[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    api
      .get<{ tokens: readonly Token[] }>("/api/tokens", stop.signal)
      .then(({ tokens }) => setNames([...new Set(tokens.map(({ name }) => name))]))
      // Suggestions are a help, not a need.
      .catch(() => {});
    return () => stop.abort();
  }, [api]);
  return names;
}
