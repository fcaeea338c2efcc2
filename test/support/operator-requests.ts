// Requests to the operator listener.
import type { JsonFrom } from "../../src/operator/operator-table.ts";
import type {
  AuditEntryJson,
  AuditPageJson,
  MintedTokenJson,
  TokenJson,
} from "../../src/operator/responses.ts";
import type { TestService } from "./test-service.ts";
import { bearer, operatorToken } from "./tokens.ts";

/** A service of this process, or one that is a process of its own. */
type WithOperatorListener = Pick<TestService, "operatorUrl">;

interface Sender {
  /** By default one that may do everything there. No token is sent if it is null: `undefined` is refused by the type check. */
  readonly token?: string | null;
}

interface OperatorRequest extends Omit<RequestInit, "headers">, Sender {}

export function operatorFetch(
  { operatorUrl }: WithOperatorListener,
  path: string,
  { token = operatorToken, ...request }: OperatorRequest = {},
): Promise<Response> {
  return fetch(operatorUrl + path, { ...request, headers: token === null ? {} : bearer(token) });
}

/** What the operator listener answers to a GET, as JSON. */
export async function operatorGet<Answer>(
  service: WithOperatorListener,
  path: string,
  sender: Sender = {},
): Promise<Answer> {
  const response = await operatorFetch(service, path, sender);
  return (await response.json()) as Answer;
}

/** What the operator listener answers to a POST, as JSON. */
export async function operatorPost<Answer>(
  service: WithOperatorListener,
  path: string,
  body: object = {},
  sender: Sender = {},
): Promise<Answer> {
  const request = { ...sender, method: "POST", body: JSON.stringify(body) };
  const response = await operatorFetch(service, path, request);
  return (await response.json()) as Answer;
}

/** Creates a token through the operator API. Throws if it is refused, since there is no secret then. */
export async function mintToken(
  service: WithOperatorListener,
  token: { readonly name: string; readonly scopes?: readonly string[]; readonly expiresIn?: string },
  by = operatorToken,
): Promise<MintedTokenJson> {
  const minted = await operatorPost<MintedTokenJson>(service, "/api/tokens", token, { token: by });
  if (minted.secret === undefined) throw new Error(`No token was created: ${JSON.stringify(minted)}`);
  return minted;
}

export async function listTokens(service: WithOperatorListener): Promise<readonly TokenJson[]> {
  return (await operatorGet<JsonFrom<"GET /api/tokens">>(service, "/api/tokens")).tokens;
}

/** The newest entries of the audit trail, in the order in which they were written. */
export async function lastAudited(service: WithOperatorListener, count: number): Promise<AuditEntryJson[]> {
  const { entries } = await operatorGet<AuditPageJson>(service, `/api/audit?limit=${count}`);
  return entries.toReversed();
}
