import { catalogue } from "../http/error-catalogue.ts";
import { errorResponse } from "./call.ts";

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
export function forwardPlant(plantsUrl: string): (request: Request) => Promise<Response> {
  return async (request) => {
    const body = await request.arrayBuffer();
    let answer: Response;
    try {
      answer = await fetch(plantsUrl, { method: "POST", headers: picked(request.headers, passedOn), body });
    } catch {
      return errorResponse("store-unavailable", catalogue["store-unavailable"].example, {
        "Retry-After": "1",
      });
    }
    return new Response(await answer.arrayBuffer(), {
      status: answer.status,
      headers: picked(answer.headers, passedBack),
    });
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
