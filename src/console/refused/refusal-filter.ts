import type { RefusalJson } from "../../operator/responses.ts";
import { queryOf, withQuery } from "../query.ts";

export const pagePath = "/refused";

/** The filter in the address bar. At most one of token and address is set. */
export interface RefusalFilter {
  readonly error: string;
  readonly token: string;
  readonly address: string;
}

export function readRefusalFilter(query: URLSearchParams): RefusalFilter {
  const token = query.get("token") ?? "";
  const address = token === "" ? (query.get("address") ?? "") : "";
  return { error: query.get("error") ?? "", token, address };
}

export function matches(refusal: RefusalJson, { error, token, address }: RefusalFilter): boolean {
  if (error !== "" && String(refusal.error) !== error) return false;
  if (token !== "") return refusal.token === token;
  return address === "" || refusal.address === address;
}

/** Who was refused. */
export type Sender = Pick<RefusalJson, "token" | "address">;

interface LinkedRefusals extends Partial<Sender> {
  readonly error?: string | number;
}

/** The address of the page with only these refusals. */
export function refusalsHref({ error = "", token, address }: LinkedRefusals): string {
  return withQuery(pagePath, queryOf({ error: String(error), token, address }));
}

/** It tells a token from an address of the same name; empty if the sender is not known. */
export function senderKey({ token, address }: Sender): string {
  return queryOf({ token, address }).toString();
}

export function senderName({ token, address }: Sender): string {
  return token || address || "unknown address";
}
