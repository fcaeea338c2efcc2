import type { TokenJson } from "../../operator/responses.ts";

export interface TokenRow {
  readonly token: TokenJson;
  /** Whether a live token of the same name has replaced it, so that it works only until the end of the overlap. */
  readonly isOld: boolean;
}

/** The tokens in the order of the table: live ones, each followed by its old secrets, and then those that have ended. */
export function tokenRows(oldestFirst: readonly TokenJson[]): readonly TokenRow[] {
  const live = oldestFirst.filter(({ state }) => state === "live");
  const ended = oldestFirst.filter(({ state }) => state !== "live");
  // A name has several live tokens only after a rotation; the newest of them is the successor.
  const secretsByName = Map.groupBy(live.toReversed(), ({ name }) => name);
  const names = new Set(live.map(({ name }) => name));
  const liveRows = [...names].flatMap((name) => {
    const newestFirst = secretsByName.get(name) ?? [];
    return newestFirst.map((token, position) => ({ token, isOld: position > 0 }));
  });
  return [...liveRows, ...ended.map((token) => ({ token, isOld: false }))];
}
