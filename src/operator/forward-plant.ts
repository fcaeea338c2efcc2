import { catalogue } from "../http/error-catalogue.ts";
import { type Answer, errorResponse } from "./call.ts";

const passedOn = ["Authorization", "Content-Type", "Content-Encoding", "X-Request-Id"];
const passedBack = [
  "Content-Type",
  "X-Request-Id",
  "Idempotent-Replayed",
  "Retry-After",
  "WWW-Authenticate",
  "Allow",
];

/** POST /plants for the console: the public contract itself, byte for byte, under the console's own origin. */
export function forwardPlant(plantsUrl: string): Answer {
  return async ({ request }) => {
    try {
      const answer = await fetch(plantsUrl, {
        method: "POST",
        headers: picked(request.headers, passedOn),
        body: await request.arrayBuffer(),
        // The token goes to this machine and nowhere else, whatever proxy the environment names.
        ...({ proxy: false } as object),
      });
      return new Response(await answer.arrayBuffer(), {
        status: answer.status,
        headers: picked(answer.headers, passedBack),
      });
    } catch {
      return errorResponse("store-unavailable", catalogue["store-unavailable"].example, {
        "Retry-After": "1",
      });
    }
  };
}

function picked(headers: Headers, names: readonly string[]): Headers {
  const some = new Headers();
  for (const name of names) {
    const value = headers.get(name);
    if (value !== null) some.set(name, value);
  }
  return some;
}
