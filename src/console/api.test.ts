import { expect, test } from "bun:test";
import { caught } from "../../test/support/caught.ts";
import { ApiError, isRetryableApiError, OperatorApi } from "./api.ts";

/** Why a request of the console fails if it gets these bytes, and what it reports as its outcome. */
async function failureOf(answer: string, aborted?: AbortController) {
  using server = Bun.listen({
    hostname: "127.0.0.1",
    port: 0,
    socket: {
      data(socket) {
        socket.write(answer);
        if (aborted === undefined) socket.end();
        else setTimeout(() => aborted.abort(new Error("no longer needed")));
      },
    },
  });
  const outcomes: boolean[] = [];
  const onOutcome = (responded: boolean) => void outcomes.push(responded);
  const api = new OperatorApi(() => "token", undefined, onOutcome);
  const error = await caught(api.get(`http://127.0.0.1:${server.port}/` as "/api/me", {}, aborted?.signal));
  return { error, outcomes };
}

function response(status: number, body: string): string {
  return `HTTP/1.1 ${status} Status\r\nConnection: close\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}

test("an Error body of the service is a refusal", async () => {
  const body = JSON.stringify({ error: 40031, message: "Parameter." });
  const { error, outcomes } = await failureOf(response(400, body));
  expect(error).toMatchObject({ name: "ApiError", error: 40031, message: "Parameter." });
  expect(outcomes).toEqual([true]);
});

test("a response that is cut off is like none", async () => {
  const { error } = await failureOf("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
  expect(error).toMatchObject({ name: "ApiError", error: undefined });
});

test("the error of a proxy in front of the service is like no response", async () => {
  const inWords = `{"error":"bad_gateway","message":"Bad gateway"}`;
  for (const body of ["<h1>Bad gateway</h1>", `{"error":502}`, inWords, "null"]) {
    const { error, outcomes } = await failureOf(response(502, body));
    const message = "The service responded with 502 and no message.";
    expect(error, body).toMatchObject({ name: "ApiError", error: undefined, message });
    expect(outcomes).toEqual([false]);
  }
});

test("a request that is aborted while its error is read says nothing of the service", async () => {
  const cutOff = "HTTP/1.1 503 Status\r\nContent-Length: 100\r\n\r\n{";
  const { error, outcomes } = await failureOf(cutOff, new AbortController());
  expect(error).toMatchObject({ message: "no longer needed" });
  expect(outcomes).toEqual([]);
});

test("the same request may succeed later without a response, and after 408, 429 and 5xx", () => {
  const isRetryable = (error?: number) => isRetryableApiError(new ApiError("message", error));
  expect([undefined, 40801, 42901, 50001, 50303].filter((error) => !isRetryable(error))).toEqual([]);
  expect([40031, 40102].filter(isRetryable)).toEqual([]);
});
