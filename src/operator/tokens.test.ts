import { expect, test } from "bun:test";
import { fake } from "../../test/support/fake.ts";
import { gateOf, token } from "../../test/support/gate.ts";
import type { Caller } from "../access/gate.ts";
import { TokenUpkeep } from "../access/token-upkeep.ts";
import type { TokenStore } from "../access/tokens.ts";
import type { Exchange } from "../http/exchange.ts";
import { StoreUnavailable } from "../plants/plant-store.ts";
import type { MintedTokenJson } from "./responses.ts";
import { tokenRoutes } from "./tokens.ts";

const caller: Caller = { name: "operator", scopes: ["operator"], expiresAtMs: undefined };

/** Calls a route with a store that becomes unavailable as soon as it has stored a token. */
async function postUntilStored(path: string, body: string): Promise<MintedTokenJson | undefined> {
  let isAvailable = true;
  const store = async (): Promise<void> => {
    isAvailable = false;
  };
  const tokens = fake<TokenStore>({
    async all() {
      if (!isAvailable) throw new StoreUnavailable("the connection was lost");
      return [{ ...token, expiresAtMs: undefined }];
    },
    add: store,
    addReplacement: store,
  });
  const events = { tokensChanged() {}, tokensUnreadable() {}, presetIsStored() {}, usesNotWritten() {} };
  const upkeep = new TokenUpkeep({ tokens, gate: gateOf([]).gate, delivery: undefined, events });
  let response: MintedTokenJson | undefined;
  const exchange = fake<Exchange>({
    address: "127.0.0.1",
    parameter: token.id,
    receiveBody: async () => Buffer.from(body),
    respondJson: (value) => {
      response = value as MintedTokenJson;
    },
  });
  const route = tokenRoutes(tokens, upkeep).find(
    (candidate) => candidate.path === path && candidate.method === "POST",
  );
  await route?.handle(exchange, caller);
  return response;
}

test.each([
  ["created", "/api/tokens", '{"name":"greenhouse-2"}'],
  ["rotated", "/api/tokens/{id}/rotate", ""],
])(
  "the secret of a token that was %s is sent, even if the tokens cannot be read after that",
  async (_, path, body) => {
    expect(await postUntilStored(path, body)).toMatchObject({ secret: expect.stringMatching(/^pst_/) });
  },
);
