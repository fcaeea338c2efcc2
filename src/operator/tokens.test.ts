import { expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fakeTimers } from "../../test/support/clock.ts";
import { fake } from "../../test/support/fake.ts";
import { gateOf, token } from "../../test/support/gate.ts";
import type { Caller } from "../access/gate.ts";
import { TokenUpkeep } from "../access/token-upkeep.ts";
import type { Token, TokenStore } from "../access/tokens.ts";
import type { Exchange } from "../http/exchange.ts";
import { StoreUnavailable } from "../plants/plant-store.ts";
import { tokenRoutes } from "./tokens.ts";

const caller: Caller = { name: "operator", scopes: ["operator"], expiresAtMs: undefined };

/** Calls a route with a store that becomes unavailable as soon as it has stored a token; the next poll can read it again. */
async function postUntilStored(path: string, body: string) {
  const valid: Token = { ...token, expiresAtMs: undefined };
  const store = { tokens: [valid] as readonly Token[], isAvailable: true };
  const endAvailability = async (): Promise<void> => {
    store.isAvailable = false;
  };
  const tokens = fake<TokenStore>({
    async all() {
      if (!store.isAvailable) throw new StoreUnavailable("the connection was lost");
      return [...store.tokens];
    },
    // On SQLite, a change by this process is no new version.
    version: async () => "1",
    add: endAvailability,
    addReplacement: endAvailability,
    change: async (changed) => {
      store.tokens = changed;
      await endAvailability();
    },
    recordUses: async () => {},
  });
  const events = { tokensChanged() {}, tokensUnreadable() {}, presetIsStored() {}, usesNotWritten() {} };
  const preset = { name: "preset", scopes: ["metrics"], expiresAtMs: undefined, digest: "" } as const;
  const { gate, admit } = gateOf([], [preset]);
  using timers = fakeTimers();
  await using upkeep = new TokenUpkeep({ tokens, gate, delivery: undefined, events });
  await upkeep.start();
  let response: unknown;
  const exchange = fake<Exchange>({
    address: "127.0.0.1",
    parameter: token.id,
    receiveBody: async () => Buffer.from(body),
    respondJson: (value) => {
      response = value;
    },
  });
  const route = tokenRoutes(tokens, upkeep).find(
    (candidate) => candidate.path === path && candidate.method === "POST",
  );
  await route?.handle(exchange, caller);
  store.isAvailable = true;
  timers.advance(250);
  await nextTurn();
  return { response, admitted: admit(0) };
}

test.each([
  ["created", "/api/tokens", '{"name":"greenhouse-2"}'],
  ["rotated", "/api/tokens/{id}/rotate", ""],
])(
  "the secret of a token that was %s is sent, even if the tokens cannot be read after that",
  async (_, path, body) => {
    const { response } = await postUntilStored(path, body);
    expect(response).toMatchObject({ secret: expect.stringMatching(/^pst_/) });
  },
);

test("a revocation after which the tokens cannot be read is responded to, and holds from the next poll on", async () => {
  const { response, admitted } = await postUntilStored("/api/tokens/{id}/revoke", "");
  expect(response).toMatchObject({ token: { state: "revoked" } });
  expect(admitted).toBe("bad-credentials");
});
