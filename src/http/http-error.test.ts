import { expect, test } from "bun:test";
import { deniedError, overRateError } from "./http-error.ts";

test.each([
  [1, "1"],
  [1000, "1"],
  [1001, "2"],
])("a caller that has to wait for %d ms is told to wait for %s s", (waitMs, seconds) => {
  const error = overRateError(waitMs);
  expect(error.headers).toEqual({ "Retry-After": seconds });
  expect(error.message).toBe(`This token is over its rate limit. Try again in ${seconds} s.`);
});

test.each([
  ["no-credentials", 'Bearer realm="plant-store"'],
  ["bad-credentials", 'Bearer realm="plant-store", error="invalid_token"'],
  ["lacks-scope", 'Bearer realm="plant-store", error="insufficient_scope", scope="operator"'],
] as const)("the challenge to %s is RFC 6750's", (reason, challenge) => {
  expect(deniedError(reason, "operator").headers).toEqual({ "WWW-Authenticate": challenge });
});

test("a caller whose token lacks the scope is told which", () => {
  expect(deniedError("lacks-scope", "operator").message).toBe("The token lacks the scope operator.");
});

test.each(["store-unavailable", "issuer-unavailable"] as const)(
  "credentials are not challenged if %s",
  (reason) => {
    const error = deniedError(reason, "operator");
    expect(error.kind).toBe(reason);
    expect(error.headers).toEqual({});
  },
);
