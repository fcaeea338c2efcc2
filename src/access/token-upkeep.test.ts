import { describe, expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { fakeTimers } from "../../test/support/clock.ts";
import { fake } from "../../test/support/fake.ts";
import { gateOf, token } from "../../test/support/gate.ts";
import { TokenUpkeep, type TokenUpkeepOptions } from "./token-upkeep.ts";
import type { TokenStore } from "./tokens.ts";

const revoked = { ...token, revokedAtMs: 1 };

describe("the upkeep of tokens", () => {
  /** Keeps tokens that the test can change, and polls them when it says so; `events` are those reported so far. */
  async function startUpkeep(presetDigest = "") {
    // With a preset token, no first token is created.
    const preset = { name: "preset", scopes: ["metrics"], expiresAtMs: undefined } as const;
    const { gate, admit } = gateOf([], [{ ...preset, digest: presetDigest }]);
    const held: Promise<void> = Promise.resolve();
    const store = { tokens: [token], version: "1", isAvailable: true, held, heldTokens: held };
    const read = <Value>(value: Value): Value => {
      if (!store.isAvailable) throw new Error("unavailable");
      return value;
    };
    const tokens = fake<TokenStore>({
      async all() {
        const all = read(store.tokens);
        await store.heldTokens;
        return all;
      },
      async version() {
        await store.held;
        return read(store.version);
      },
      async recordUses() {},
    });
    const events: string[] = [];
    const report = {
      tokensChanged: () => events.push("changed"),
      tokensUnreadable: () => events.push("unreadable"),
      presetIsStored: (preset: string, stored: string) => events.push(`${preset} is ${stored}`),
      usesNotWritten() {},
    };
    const cleanUp = new AsyncDisposableStack();
    const timers = cleanUp.use(fakeTimers());
    const upkeep = cleanUp.use(
      new TokenUpkeep({ tokens, gate, delivery: undefined, databaseFlag: "", events: report }),
    );
    await upkeep.start();
    /** Polls once, and waits for the end of the poll, unless the store holds it. */
    async function poll(): Promise<void> {
      timers.advance(250);
      await nextTurn();
    }
    const reloadOrPollLater = () => upkeep.reloadOrPollLater();
    const stop = () => cleanUp.disposeAsync();
    return { store, events, admit, poll, reloadOrPollLater, [Symbol.asyncDispose]: stop };
  }

  test("refuses a token that another process has revoked, and reports the change", async () => {
    await using upkeep = await startUpkeep();
    expect(upkeep.admit(0)).toMatchObject({ name: "greenhouse" });
    Object.assign(upkeep.store, { tokens: [revoked], version: "2" });
    await upkeep.poll();
    expect(upkeep.admit(0)).toBe("bad-credentials");
    expect(upkeep.events).toEqual(["changed"]);
  });

  test("refuses nobody during an outage, which it reports once, and reads the tokens again after it", async () => {
    await using upkeep = await startUpkeep();
    upkeep.store.isAvailable = false;
    await upkeep.poll();
    await upkeep.poll();
    expect(upkeep.admit(0)).toMatchObject({ name: "greenhouse" });
    expect(upkeep.events).toEqual(["unreadable"]);
    Object.assign(upkeep.store, { isAvailable: true, tokens: [revoked], version: "2" });
    await upkeep.poll();
    expect(upkeep.admit(0)).toBe("bad-credentials");
  });

  test("reports no poll that fails because the store has been closed", async () => {
    const upkeep = await startUpkeep();
    const closed = Promise.withResolvers<void>();
    Object.assign(upkeep.store, { isAvailable: false, held: closed.promise });
    await upkeep.poll();
    await upkeep[Symbol.asyncDispose]();
    closed.resolve();
    await nextTurn();
    expect(upkeep.events).toEqual([]);
  });

  test("reads a change of its own with a later poll if it could not be read at once", async () => {
    await using upkeep = await startUpkeep();
    // Its own changes are not a new version.
    Object.assign(upkeep.store, { isAvailable: false, tokens: [revoked] });
    await upkeep.reloadOrPollLater();
    upkeep.store.isAvailable = true;
    await upkeep.poll();
    expect(upkeep.admit(0)).toBe("bad-credentials");
  });

  test("reads a change of its own with a later poll if another poll was reading the tokens", async () => {
    await using upkeep = await startUpkeep();
    const held = Promise.withResolvers<void>();
    Object.assign(upkeep.store, { version: "2", heldTokens: held.promise });
    await upkeep.poll();
    Object.assign(upkeep.store, { isAvailable: false, tokens: [revoked] });
    await upkeep.reloadOrPollLater();
    upkeep.store.isAvailable = true;
    held.resolve();
    await nextTurn();
    await upkeep.poll();
    expect(upkeep.admit(0)).toBe("bad-credentials");
  });

  test("reports a preset token that is also stored", async () => {
    await using upkeep = await startUpkeep(token.digest);
    expect(upkeep.events).toEqual(["preset is greenhouse"]);
  });
});

test("the stop of the upkeep writes the uses of tokens, or reports that it cannot", async () => {
  const written: unknown[] = [];
  const reasons: unknown[] = [];
  const unavailable = new Error("unavailable");
  const write: TokenStore["recordUses"] = async (uses) => void written.push(...uses);
  for (const recordUses of [write, () => Promise.reject(unavailable)]) {
    const { gate, admit } = gateOf();
    admit(5);
    const tokens = fake<TokenStore>({ recordUses });
    const events = fake<TokenUpkeepOptions["events"]>({
      usesNotWritten: (reason) => void reasons.push(reason),
    });
    await new TokenUpkeep({ tokens, gate, events, delivery: undefined, databaseFlag: "" })[
      Symbol.asyncDispose
    ]();
  }
  expect(written).toEqual([{ digest: token.digest, atMs: 5 }]);
  expect(reasons).toEqual([unavailable]);
});
