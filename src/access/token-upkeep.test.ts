import { describe, expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { eventually } from "../../test/support/eventually.ts";
import { fake } from "../../test/support/fake.ts";
import { gateOf, token } from "../../test/support/gate.ts";
import { TokenUpkeep, type TokenUpkeepOptions } from "./token-upkeep.ts";
import type { TokenStore } from "./tokens.ts";

describe("the upkeep of tokens", () => {
  /** Polls tokens that the test can change; `events` are those reported so far. */
  async function startUpkeep(presetDigest = "") {
    // With a preset token, no first token is created.
    const preset = {
      name: "preset",
      scopes: ["metrics"],
      expiresAtMs: undefined,
      digest: presetDigest,
    } as const;
    const { gate, admit } = gateOf([], [preset]);
    const state = { stored: [token], version: "1", available: true, polls: 0, held: Promise.resolve() };
    const events: string[] = [];
    const upkeep = new TokenUpkeep({
      tokens: fake<TokenStore>({
        all: async () => state.stored,
        async recordUses() {},
        async version() {
          state.polls++;
          await state.held;
          if (!state.available) throw new Error("unavailable");
          return state.version;
        },
      }),
      gate,
      delivery: undefined,
      events: {
        tokensChanged: () => events.push("changed"),
        tokensUnreadable: () => events.push("unreadable"),
        presetIsStored: (preset, stored) => events.push(`${preset} is ${stored}`),
        usesNotWritten() {},
      },
    });
    await upkeep.start();
    return { state, events, admit, [Symbol.asyncDispose]: () => upkeep[Symbol.asyncDispose]() };
  }

  test("refuses a token that another process has revoked", async () => {
    await using upkeep = await startUpkeep();
    expect(upkeep.admit(0)).toMatchObject({ name: "greenhouse" });
    Object.assign(upkeep.state, { stored: [{ ...token, revokedAtMs: 1 }], version: "2" });
    await eventually(() => upkeep.admit(0) === "bad-credentials", "a poll");
    expect(upkeep.events).toEqual(["changed"]);
  });

  test("refuses nobody during an outage", async () => {
    await using upkeep = await startUpkeep();
    upkeep.state.available = false;
    const before = upkeep.state.polls;
    await eventually(() => upkeep.state.polls > before + 1, "a poll that fails");
    expect(upkeep.admit(0)).toMatchObject({ name: "greenhouse" });
  });

  test("reports an outage once", async () => {
    await using upkeep = await startUpkeep();
    upkeep.state.available = false;
    const before = upkeep.state.polls;
    await eventually(() => upkeep.state.polls > before + 2, "polls that fail");
    expect(upkeep.events).toEqual(["unreadable"]);
  });

  test("reports no poll that fails because the store has been closed", async () => {
    const upkeep = await startUpkeep();
    const closed = Promise.withResolvers<void>();
    Object.assign(upkeep.state, { available: false, held: closed.promise });
    const before = upkeep.state.polls;
    await eventually(() => upkeep.state.polls > before, "a poll");
    await upkeep[Symbol.asyncDispose]();
    closed.resolve();
    await nextTurn();
    expect(upkeep.events).toEqual([]);
  });

  test("reads the tokens again after an outage", async () => {
    await using upkeep = await startUpkeep();
    upkeep.state.available = false;
    await eventually(() => upkeep.events.includes("unreadable"), "a poll that fails");
    Object.assign(upkeep.state, { available: true, stored: [{ ...token, revokedAtMs: 1 }], version: "2" });
    await eventually(() => upkeep.admit(0) === "bad-credentials", "a poll that succeeds");
    expect(upkeep.events).toEqual(["unreadable", "changed"]);
  });

  test("reports a preset token that is also stored", async () => {
    await using upkeep = await startUpkeep(token.digest);
    expect(upkeep.events).toEqual(["preset is greenhouse"]);
  });

  test("writes the uses of tokens at the latest when the service stops, which no failure prevents", async () => {
    const written: unknown[] = [];
    const failures: unknown[] = [];
    const { gate, admit } = gateOf();
    const stop = async (recordUses: TokenStore["recordUses"]) => {
      admit(5);
      const events = fake<TokenUpkeepOptions["events"]>({
        usesNotWritten: (reason) => void failures.push(reason),
      });
      const tokens = fake<TokenStore>({ recordUses });
      const parts = { tokens, gate, events, delivery: undefined };
      await new TokenUpkeep(parts)[Symbol.asyncDispose]();
    };
    await stop(async (uses) => void written.push(...uses));
    await stop(() => Promise.reject(new Error("unavailable")));
    expect(written).toEqual([{ digest: token.digest, atMs: 5 }]);
    expect(failures.length).toBe(1);
  });
});
