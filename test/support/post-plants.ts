// Requests to the public listener, nearly all to POST /plants.
import { accessToken, bearer } from "./tokens.ts";

/** POST /plants with a valid token and JSON; `headers` override both. */
export function post(
  url: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
): Promise<Response> {
  return fetch(`${url}/plants`, {
    method: "POST",
    headers: { ...bearer(accessToken), "Content-Type": "application/json", ...headers },
    body,
  });
}

/** POST /plants with a plant of that id. */
export function postPlant(url: string, id: number, headers: Record<string, string> = {}): Promise<Response> {
  return post(url, `{"id":${id},"name":"plant ${id}"}`, headers);
}

/** Creates a plant, and returns the status. */
export async function createStatus(url: string, id: number, name = "fern"): Promise<number> {
  return (await post(url, JSON.stringify({ id, name }))).status;
}

/** So large that a few hundred plants fill the WAL until it is checkpointed. */
export const largeName = "x".repeat(60_000);

/** The body of a response that is an error. */
export async function errorIn(response: Response): Promise<{ error: number; message: string }> {
  return (await response.json()) as { error: number; message: string };
}

/** The status of a GET without a token, such as of `/readyz` on either listener. */
export async function statusOf(url: string, path: string): Promise<number> {
  return (await fetch(url + path)).status;
}

/**
 * Four clients that create plants until they are refused. `refusals` are their errors, or 0 if the connection ended; `refusal`
 * is the first.
 */
export function createUntilRefused(url: string, name: string) {
  const acknowledged: number[] = [];
  const refusals = Array.from({ length: 4 }, async (_, client) => {
    for (let id = 1000 * (client + 1); ; id++) {
      try {
        const response = await post(url, JSON.stringify({ id, name }));
        if (response.status !== 200) return (await errorIn(response)).error;
        acknowledged.push(id);
      } catch {
        return 0;
      }
    }
  });
  return { acknowledged, refusal: Promise.race(refusals), refusals: Promise.all(refusals) };
}
