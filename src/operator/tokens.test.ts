import { expect, test } from "bun:test";
import { fake } from "../../test/support/fake.ts";
import { token } from "../../test/support/gate.ts";
import type { Caller } from "../access/scopes.ts";
import type { Token } from "../access/token.ts";
import type { TokenUpkeep } from "../access/token-upkeep.ts";
import type { TokenStore } from "../access/tokens.ts";
import type { Exchange } from "../http/exchange.ts";
import { StoreUnavailable } from "../plants/plant-store.ts";
import type { ActionRecorder } from "./action-recorder.ts";
import { tokenHandlers } from "./tokens.ts";

const caller: Caller = { name: "operator", scopes: ["operator"], expiresAtMs: undefined };
const secret = expect.stringMatching(/^pst_/);

const values = { id: token.id, name: "greenhouse-2", scopes: [], expiresIn: undefined, overlap: undefined };

// What becomes of a change that cannot be read at once is tested in src/access/token-upkeep.test.ts.
test.each([
  ["created", "create", { secret }],
  ["rotated", "rotate", { secret }],
  ["revoked", "revoke", { token: { state: "revoked" } }],
] as const)(
  "that a token was %s is responded to, even if the tokens cannot be read after that",
  async (_, change, expected) => {
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
    const exchange = fake<Exchange>({ address: "127.0.0.1" });
    const actions = fake<ActionRecorder>({ count() {} });
    const { body } = await tokenHandlers(tokens, upkeep, actions)[change]({ exchange, caller, values });
    expect(changes).toBe(1);
    expect(reloads).toBe(1);
    expect(JSON.parse(String(body))).toMatchObject(expected);
  },
);
