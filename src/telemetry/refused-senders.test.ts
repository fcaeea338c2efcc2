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
    requestIdIsMinted: true,
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
  const last = { message: "The id 2 is another's.", requestId: "mine", requestIdIsMinted: false };
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

test("the senders that got an error last are kept, the last of them first", () => {
  const names = recorded(...tokens(sendersPerErrorMax + 5)).map(({ token }) => token);
  expect(names).toEqual(
    tokens(sendersPerErrorMax + 5)
      .slice(5)
      .reverse()
      .map(({ token }) => token),
  );
});

test("a sender that takes another's place is counted from one", () => {
  const counts = recorded({ token: "first" }, { token: "first" }, ...tokens(sendersPerErrorMax)).map(
    ({ count }) => count,
  );
  expect(counts).toEqual(Array(sendersPerErrorMax).fill(1));
});

test("a request id that is shorter than the one before is kept alone", () => {
  const senders = recorded({ requestId: "0123456789abcdef-1" }, { requestId: "short" });
  expect(senders[0]?.requestId).toBe("short");
});

test("a request id of 64 characters is kept whole", () => {
  expect(recorded({ requestId: "~".repeat(64) })[0]?.requestId).toBe("~".repeat(64));
});

test("20 senders are kept for each error", () => {
  expect(recorded(...tokens(100))).toHaveLength(20);
});

test("a sender that is refused again is not the next to go", () => {
  const names = recorded(...tokens(sendersPerErrorMax), { token: "token 0" }, { token: "new" }).map(
    ({ token }) => token,
  );
  expect(names).toContain("token 0");
  expect(names).not.toContain("token 1");
});

test("one sender that is refused often removes no other", () => {
  const flood = Array.from({ length: 1000 }, () => ({ token: "flood" }));
  expect(recorded(...tokens(sendersPerErrorMax - 1), ...flood)).toHaveLength(sendersPerErrorMax);
});

test("many senders of one error remove none of another", () => {
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
