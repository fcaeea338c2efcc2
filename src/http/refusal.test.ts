import { expect, test } from "bun:test";
import { denial, overRate } from "./refusal.ts";

test.each([
  [1, "1"],
  [1000, "1"],
  [1001, "2"],
])("a caller that has to wait for %d ms is told to wait for %s s", (waitMs, seconds) => {
  const error = overRate(waitMs);
  expect(error.headers).toEqual({ "Retry-After": seconds });
  expect(error.message).toBe(`This token is over its rate limit. Try again in ${seconds} s.`);
});

test("a denied caller gets the challenge of RFC 6750, unless its credentials are not the reason", () => {
  const challenges = {
    "no-credentials": 'Bearer realm="plant-store"',
    "bad-credentials": 'Bearer realm="plant-store", error="invalid_token"',
    "lacks-scope": 'Bearer realm="plant-store", error="insufficient_scope", scope="operator"',
    "store-unavailable": undefined,
    "issuer-unavailable": undefined,
  } as const;
  for (const [reason, challenge] of Object.entries(challenges)) {
    const error = denial(reason as keyof typeof challenges, "operator");
    expect(error.kind).toBe(reason as keyof typeof challenges);
    expect(error.headers["WWW-Authenticate"]).toBe(challenge);
  }
  expect(denial("lacks-scope", "operator").message).toBe("The token lacks the scope operator.");
  const withoutScheme = denial("no-credentials", "operator", "pst_0123456789");
  expect(withoutScheme.message).toEndWith('the word "Bearer" is missing before the token.');
});
