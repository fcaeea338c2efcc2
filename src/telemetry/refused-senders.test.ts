import { expect, test } from "bun:test";
import { RefusedSenders, type SentError, sendersPerErrorMax } from "./refused-senders.ts";

const conflict = 40020;
const noCredentials = 40101;

function sent(over: Partial<SentError>): SentError {
  return {
    listener: "public",
    error: conflict,
    token: "greenhouse",
    address: undefined,
    message: "The id 1 already belongs to a plant with a different name.",
    requestId: "0123456789abcdef-1",
    ...over,
  };
}

/** What is listed after these refusals, of which each is one millisecond after the one before. */
function recorded(...refusals: readonly Partial<SentError>[]) {
  const senders = new RefusedSenders();
  for (const [atMs, refusal] of refusals.entries()) senders.record(sent(refusal), atMs);
  return senders.list();
}

const tokens = (count: number) => Array.from({ length: count }, (_, index) => ({ token: `token ${index}` }));

test("a sender has its last refusal with the number of all", () => {
  const last = { message: "The id 2 is another's.", requestId: "mine" };
  expect(recorded({}, {}, last)).toEqual([{ ...sent(last), count: 3, atMs: 2 }]);
});

test("a token and an address of the same text are two senders", () => {
  const address = { token: undefined, address: "192.0.2.1" };
  const senders = recorded({ token: "192.0.2.1" }, address);
  expect(senders).toEqual([
    { ...sent(address), count: 1, atMs: 1 },
    { ...sent({ token: "192.0.2.1" }), count: 1, atMs: 0 },
  ]);
});

test("a sender of two errors is listed with each", () => {
  const errors = recorded({}, { error: noCredentials }, { error: noCredentials });
  expect(errors.map(({ error, count }) => [error, count])).toEqual([
    [noCredentials, 2],
    [conflict, 1],
  ]);
});

test("the 20 senders that got an error last are listed, the last one first", () => {
  const senders = recorded(...tokens(500), { token: "token 485" }, { token: "new" });
  const others = Array.from({ length: 18 }, (_, index) => `token ${499 - index}`).filter(
    (name) => name !== "token 485",
  );
  expect(senders.map(({ token }) => token)).toEqual(["new", "token 485", ...others, "token 481"]);
  expect(senders.map(({ count }) => count)).toEqual([1, 2, ...Array(18).fill(1)]);
});

test("neither one sender that is refused often nor many senders of one error remove another", () => {
  const flood = Array.from({ length: 1000 }, () => ({ token: "flood" }));
  expect(recorded(...tokens(sendersPerErrorMax - 1), ...flood)).toHaveLength(sendersPerErrorMax);
  const strangers = Array.from({ length: 1000 }, (_, index) => ({
    error: noCredentials,
    token: undefined,
    address: `192.0.2.${index}`,
  }));
  const kept = recorded({}, ...strangers).filter(({ error }) => error === conflict);
  expect(kept).toEqual([{ ...sent({}), count: 1, atMs: 0 }]);
});

test("a message is kept up to 1,000 characters", () => {
  expect(recorded({ message: "m".repeat(5000) })[0]?.message).toBe("m".repeat(1000));
});
