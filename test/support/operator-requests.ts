// Requests to the operator listener.
import type { MintedTokenJson } from "../../src/operator/responses.ts";
import type { TestService } from "./test-service.ts";
import { bearer, operatorToken } from "./tokens.ts";

/** A service of this process, or one that is a process of its own. */
type WithOperatorListener = Pick<TestService, "operatorUrl">;

/** A request to the operator listener. Its token is one that may do everything there, unless another is given. */
interface OperatorRequest extends Omit<RequestInit, "headers"> {
  readonly token?: string | undefined;
}

export function operatorFetch(
  { operatorUrl }: WithOperatorListener,
  path: string,
  { token = operatorToken, ...request }: OperatorRequest = {},
): Promise<Response> {
  return fetch(operatorUrl + path, { ...request, headers: bearer(token) });
}

/** What the operator listener answers to a GET, as JSON. */
export async function operatorGet<Answer>(
  running: WithOperatorListener,
  path: string,
  token = operatorToken,
): Promise<Answer> {
  const response = await operatorFetch(running, path, { token });
  return (await response.json()) as Answer;
}

/** What the operator listener answers to a POST, as JSON. */
export async function operatorPost<Answer>(
  running: WithOperatorListener,
  path: string,
  body: object = {},
  token = operatorToken,
): Promise<Answer> {
  const response = await operatorFetch(running, path, { method: "POST", token, body: JSON.stringify(body) });
  return (await response.json()) as Answer;
}

/**
 * Creates a token through the operator API. Throws if it is refused: there is no secret then, and requests without one are sent
 * with the operator token.
 */
export async function mintToken(
  running: WithOperatorListener,
  token: { readonly name: string; readonly scopes?: readonly string[]; readonly expiresIn?: string },
  by = operatorToken,
): Promise<MintedTokenJson> {
  const minted = await operatorPost<MintedTokenJson>(running, "/api/tokens", token, by);
  if (minted.secret === undefined) throw new Error(`No token was created: ${JSON.stringify(minted)}`);
  return minted;
}
