import type { TokenJson } from "../../operator/responses.ts";

export interface TokenRow {
  readonly token: TokenJson;
  /** Whether a live token of the same name has replaced it, so that it works only until the end of the overlap. */
  readonly isOld: boolean;
}

/** The live tokens, each followed by its old secrets. */
export function liveRows(oldestFirst: readonly TokenJson[]): readonly TokenRow[] {
  const live = oldestFirst.filter(({ state }) => state === "live");
  // A name has several live tokens only after a rotation; the newest of them is the successor.
  const secretsByName = Map.groupBy(live.toReversed(), ({ name }) => name);
  const names = new Set(live.map(({ name }) => name));
  return [...names].flatMap((name) => {
    const newestFirst = secretsByName.get(name) ?? [];
    return newestFirst.map((token, position) => ({ token, isOld: position > 0 }));
  });
}

/** Those that have expired or were revoked. They stay, because plants refer to them. */
export function endedRows(oldestFirst: readonly TokenJson[]): readonly TokenRow[] {
  return oldestFirst.filter(({ state }) => state !== "live").map((token) => ({ token, isOld: false }));
}
