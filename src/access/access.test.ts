import { describe, expect, spyOn, test } from "bun:test";
import { createHash } from "node:crypto";
import { fake } from "../../test/support/fake.ts";
import { eventually } from "../../test/support/harness.ts";
import { Gate } from "./gate.ts";
import { RateLimit } from "./rate-limit.ts";
import { digestOf, isMistyped, mintSecret } from "./token-secret.ts";
import { TokenUpkeep, type TokenUpkeepOptions } from "./token-upkeep.ts";
import type { Token, TokenStore } from "./tokens.ts";

const secret = mintSecret();
const token: Token = {
  id: "1",
  name: "greenhouse",
  digest: digestOf(secret),
  scopes: ["plants:create"],
  createdAtMs: 0,
  expiresAtMs: 1000,
  revokedAtMs: undefined,
  createdBy: "test",
  lastUsedAtMs: undefined,
};

/** A gate that knows the token, or these. */
function gateOf(tokens = [token], presets: ConstructorParameters<typeof Gate>[0] = []) {
  const gate = new Gate(presets);
  gate.update(tokens);
  return {
    gate,
    admit: (nowMs: number, header = `Bearer ${secret}`) => gate.admit(header, "plants:create", nowMs),
  };
}

test("a generated secret is pst_ and 49 letters and digits, and unique", () => {
  const many = new Set(Array.from({ length: 1000 }, mintSecret));
  expect(many.size).toBe(1000);
  for (const one of many) expect(one).toMatch(/^pst_[0-9A-Za-z]{49}$/);
});

test("a generated secret reveals a mistyped or missing character", () => {
  expect([secret, secret.slice(4), secret.slice(0, -1)].map(isMistyped)).toEqual([false, false, true]);
  for (let at = 4; at < 47; at++) {
    const letter = secret[at] === "a" ? "b" : "a";
    expect(isMistyped(secret.slice(0, at) + letter + secret.slice(at + 1))).toBe(true);
  }
});

describe("the gate", () => {
  test.each<[string, string | undefined, "no-credentials" | "bad-credentials"]>([
    ["no header", undefined, "no-credentials"],
    ["another scheme", "Basic Zm9vOmJhcg==", "no-credentials"],
    ["the scheme alone", "Bearer", "bad-credentials"],
    ["an unknown token", `Bearer ${mintSecret()}`, "bad-credentials"],
    ["two headers", `Bearer ${secret}, Bearer ${secret}`, "bad-credentials"],
    ["a token and more", `Bearer ${secret} x`, "bad-credentials"],
    ["a digest in place of the secret", `Bearer ${token.digest}`, "bad-credentials"],
    ["a scheme that only begins so", `Bearer${secret}`, "no-credentials"],
    ["a JWT without an identity provider", "Bearer eyJ.eyJ.c2ln", "bad-credentials"],
  ])("does not admit %s", (_, header, denied) => {
    expect(gateOf().gate.admit(header, "plants:create", 0)).toBe(denied);
  });

  test.each(["Bearer", "bearer", "BEARER "])(
    "admits a valid token every time after the scheme %j",
    (scheme) => {
      const { admit } = gateOf();
      const header = `${scheme} ${secret}`;
      expect(admit(0, header)).toMatchObject({ name: "greenhouse" });
      expect(admit(0, header)).toMatchObject({ name: "greenhouse" });
    },
  );

  test("does not admit a valid token without the scope, even if it was admitted before", () => {
    const { gate, admit } = gateOf();
    expect(admit(0)).toMatchObject({ name: "greenhouse" });
    expect(gate.admit(`Bearer ${secret}`, "operator", 0)).toBe("lacks-scope");
  });

  test("denies an expired and a revoked token immediately, even if it was admitted before", () => {
    const { gate, admit } = gateOf();
    expect(admit(999)).toMatchObject({ name: "greenhouse" });
    expect(admit(1000)).toBe("bad-credentials");
    expect(admit(0)).toMatchObject({ name: "greenhouse" });
    gate.update([{ ...token, revokedAtMs: 1 }]);
    expect(admit(0)).toBe("bad-credentials");
  });

  const revoked = mintSecret();
  // Whoever can measure a difference learns whether a secret once was a token; a hash takes nearly all of the time.
  test.each([
    ["expired", secret],
    ["revoked", revoked],
    ["unknown", mintSecret()],
  ])("hashes a token that is %s each time that it refuses it", (_, refused) => {
    const { admit } = gateOf([token, { ...token, digest: digestOf(revoked), revokedAtMs: 1 }]);
    admit(0);
    using hashes = spyOn(Object.getPrototypeOf(createHash("sha256")), "digest");
    // The first refusal of a token that was admitted finds its caller in the cache.
    admit(2000, `Bearer ${refused}`);
    hashes.mockClear();
    for (let times = 0; times < 3; times++) expect(admit(2000, `Bearer ${refused}`)).toBe("bad-credentials");
    expect(hashes).toHaveBeenCalledTimes(3);
  });
});

describe("the uses of tokens", () => {
  test("are collected once for each period, however many requests there were", () => {
    const { gate, admit } = gateOf();
    for (const nowMs of [10, 20, 30]) admit(nowMs);
    expect(gate.takeUses()).toEqual([{ digest: token.digest, atMs: 10 }]);
    expect(gate.takeUses()).toEqual([]);
    admit(40);
    expect(gate.takeUses()).toEqual([{ digest: token.digest, atMs: 40 }]);
  });

  test("are not collected for unknown, expired and preset tokens", () => {
    const preset = { name: "preset", scopes: ["plants:create"], expiresAtMs: undefined } as const;
    const { gate, admit } = gateOf([token], [{ ...preset, digest: digestOf("preset-secret-0123456789") }]);
    admit(1000);
    admit(0, `Bearer ${mintSecret()}`);
    expect(admit(0, "Bearer preset-secret-0123456789")).toMatchObject(preset);
    expect(gate.takeUses()).toEqual([]);
  });

  test("are written at the latest when the service stops, which no failure prevents", async () => {
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
    const state = { stored: [token], version: "1", available: true, polls: 0 };
    const events: string[] = [];
    const upkeep = new TokenUpkeep({
      tokens: fake<TokenStore>({
        all: async () => state.stored,
        async recordUses() {},
        async version() {
          state.polls++;
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
});

test("a preset token has only its own scope, however a token with its secret is stored", () => {
  const preset = { name: "preset-access", scopes: ["plants:create"], expiresAtMs: undefined } as const;
  const both: Token = { ...token, scopes: ["plants:create", "operator"], expiresAtMs: undefined };
  for (const tokens of [
    [],
    [both],
    [{ ...both, scopes: ["operator"] } as const],
    [{ ...both, revokedAtMs: 1 }],
    [{ ...both, expiresAtMs: 1 }],
  ]) {
    const { gate, admit } = gateOf(tokens, [{ ...preset, digest: digestOf(secret) }]);
    expect(admit(2)).toMatchObject({ name: "preset-access" });
    expect(gate.admit(`Bearer ${secret}`, "operator", 2)).toBe("lacks-scope");
  }
});

describe("a rate limit", () => {
  test("allows a burst, then a steady rate, for each caller", () => {
    const limit = new RateLimit({ count: 10, perMs: 1000 });
    for (let taken = 0; taken < 10; taken++) expect(limit.take("a", 0)).toBe(0);
    expect(limit.take("a", 0)).toBe(100);
    expect(limit.take("b", 0)).toBe(0);
    expect(limit.take("a", 100)).toBe(0);
    expect(limit.take("a", 100)).toBeGreaterThan(0);
  });

  // Microseconds add up exactly, whatever the count.
  test.each([1, 3, 7, 30, 60, 999])("of %i allows no more at once", (count) => {
    const limit = new RateLimit({ count, perMs: 1000 });
    const waits = Array.from({ length: count + 1 }, () => limit.take("a", 1_794_700_000_000));
    expect(waits.filter((waitMs) => waitMs === 0)).toHaveLength(count);
  });

  test("is each caller's own for 100,000 callers, and forgets the one idle longest when there are more", () => {
    const limit = new RateLimit({ count: 1, perMs: 1000 });
    const refused = () =>
      Array.from({ length: 100_000 }, (_, caller) => limit.take(`caller ${caller}`, 0)).filter(Boolean)
        .length;
    expect(refused()).toBe(0);
    expect(refused()).toBe(100_000);
    // A refused request counts too: being refused does not make a caller forgotten.
    const waits = [0, "new", 0, 2, 1].map((caller) => limit.take(`caller ${caller}`, 1) > 0);
    expect(waits).toEqual([true, false, true, true, false]);
  });
});
