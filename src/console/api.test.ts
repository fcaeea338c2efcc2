import { expect, test } from "bun:test";
import { caught } from "../../test/support/caught.ts";
import { ApiError, isRetryable, OperatorApi } from "./api.ts";

/** Why a request of the console fails if it gets these bytes, and what it reports as its outcome. */
async function failureOf(answer: string) {
  using server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: { data: (socket) => void socket.end(answer) },
  });
  const outcomes: boolean[] = [];
  const api = new OperatorApi(
    "token",
    () => {},
    (responded) => outcomes.push(responded),
  );
  const error = await caught(api.get(`http://127.0.0.1:${server.port}/`));
  return { error, outcomes };
}

function response(status: number, body: string): string {
  return `HTTP/1.1 ${status} Status\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

test("an Error body of the service is a refusal", async () => {
  const body = JSON.stringify({ error: 40031, message: "Parameter." });
  const { error, outcomes } = await failureOf(response(400, body));
  expect(error).toMatchObject({ name: "ApiError", kind: "refused", error: 40031, message: "Parameter." });
  expect(outcomes).toEqual([true]);
});

test("a response that is cut off is like none", async () => {
  const { error } = await failureOf("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
  expect(error).toMatchObject({ name: "ApiError", kind: "no-response", error: undefined });
});

test("the error of a proxy in front of the service is like no response", async () => {
  const { error, outcomes } = await failureOf(response(502, "<h1>Bad gateway</h1>"));
  expect(error).toMatchObject({ name: "ApiError", kind: "no-response", error: undefined });
  expect(outcomes).toEqual([false]);
});

test.each([
  ["no response", undefined, true],
  ["408", 40801, true],
  ["429", 42901, true],
  ["500", 50001, true],
  ["503", 50303, true],
  ["400", 40031, false],
  ["401", 40102, false],
])("whether the same request may succeed later, after %s", (_, error, expected) => {
  expect(isRetryable(new ApiError("message", error))).toBe(expected);
});
