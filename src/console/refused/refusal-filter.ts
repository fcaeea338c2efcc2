import type { RefusalJson } from "../../operator/responses.ts";
import { queryOf, withQuery } from "../query.ts";

/** Whose refusals, and which. */
export interface RefusalFilter {
  readonly error?: string | number | undefined;
  /** The name of the sender's token, or else its address. */
  readonly token?: string | undefined;
  readonly address?: string | undefined;
}

export function readRefusalFilter(query: URLSearchParams): RefusalFilter {
  const read = (name: string) => query.get(name) || undefined;
  return { error: read("error"), token: read("token"), address: read("address") };
}

/** The address of the page with only these refusals. */
export function refusalsHref({ error = "", token, address }: RefusalFilter): string {
  return withQuery("/refused", queryOf({ error: String(error), token, address }));
}

export function matches(refusal: RefusalJson, { error, token, address }: RefusalFilter): boolean {
  if (error !== undefined && String(refusal.error) !== error) return false;
  if (token !== undefined) return refusal.token === token;
  return address === undefined || refusal.address === address;
}
