import { expect, test } from "bun:test";
import { fake } from "../../test/support/fake.ts";
import { token } from "../../test/support/gate.ts";
import type { Caller } from "../access/gate.ts";
import type { Token } from "../access/token.ts";
import type { TokenUpkeep } from "../access/token-upkeep.ts";
import type { TokenStore } from "../access/tokens.ts";
import type { Exchange } from "../http/exchange.ts";
import { StoreUnavailable } from "../plants/plant-store.ts";
import { tokenRoutes } from "./tokens.ts";

const caller: Caller = { name: "operator", scopes: ["operator"], expiresAtMs: undefined };
const secret = expect.stringMatching(/^pst_/);

// What becomes of a change that cannot be read at once is tested in src/access/token-upkeep.test.ts.
test.each([
  ["created", "/api/tokens", '{"name":"greenhouse-2"}', { secret }],
  ["rotated", "/api/tokens/{id}/rotate", "", { secret }],
  ["revoked", "/api/tokens/{id}/revoke", "", { token: { state: "revoked" } }],
])(
  "that a token was %s is responded to, even if the tokens cannot be read after that",
  async (_, path, body, expected) => {
    const valid: Token = { ...token, expiresAtMs: undefined };
    let changes = 0;
    const storeChange = async () => void changes++;
    const tokens = fake<TokenStore>({
      async all() {
        if (changes > 0) throw new StoreUnavailable("the connection was lost");
        return [valid];
      },
      add: storeChange,
      addReplacement: storeChange,
      change: storeChange,
    });
    let reloads = 0;
    const upkeep = fake<TokenUpkeep>({ reloadOrPollLater: async () => void reloads++ });
    const responses: unknown[] = [];
    const exchange = fake<Exchange>({
      address: "127.0.0.1",
      parameter: token.id,
      receiveBody: async () => Buffer.from(body),
      respondJson: (value) => void responses.push(value),
    });
    const routes = tokenRoutes(tokens, upkeep);
    await routes.find((route) => route.path === path && route.method === "POST")?.handle(exchange, caller);
    expect(changes).toBe(1);
    expect(reloads).toBe(1);
    expect(responses).toMatchObject([expected]);
  },
);
