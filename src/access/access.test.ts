import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { Gate } from "./gate.ts";
import { formatRate, parseRateText, type Rate, RateLimit } from "./rate-limit.ts";
import { TokenUpkeep } from "./token-upkeep.ts";
import { digestOf, isMistyped, mintSecret, type Token, type TokenStore, type TokenUse } from "./tokens.ts";

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
  rateLimit: undefined,
};

function gate(): Gate {
  const made = new Gate([]);
  made.update([token]);
  return made;
}

describe("a generated secret", () => {
  test("is pst_ and 49 letters and digits, and unique", () => {
    const many = new Set(Array.from({ length: 1000 }, mintSecret));
    expect(many.size).toBe(1000);
    for (const one of many) expect(one).toMatch(/^pst_[0-9A-Za-z]{49}$/);
  });

  test("reveals a mistyped or missing character", () => {
    expect([isMistyped(secret), isMistyped(secret.slice(4))]).toEqual([false, false]);
    expect(isMistyped(secret.slice(0, -1))).toBe(true);
    fc.assert(
      fc.property(fc.integer({ min: 4, max: 46 }), fc.constantFrom(..."0Aaz"), (at, letter) => {
        fc.pre(secret[at] !== letter);
        return isMistyped(secret.slice(0, at) + letter + secret.slice(at + 1));
      }),
    );
  });
});

describe("the gate", () => {
  const cases: [string, string | undefined, string][] = [
    ["no header", undefined, "no-credentials"],
    ["another scheme", "Basic Zm9vOmJhcg==", "no-credentials"],
    ["the scheme alone", "Bearer", "bad-credentials"],
    ["an unknown token", `Bearer ${mintSecret()}`, "bad-credentials"],
    ["two headers", `Bearer ${secret}, Bearer ${secret}`, "bad-credentials"],
    ["a token and more", `Bearer ${secret} x`, "bad-credentials"],
    ["a digest in place of the secret", `Bearer ${token.digest}`, "bad-credentials"],
    ["a scheme that only begins so", `Bearer${secret}`, "no-credentials"],
  ];
  for (const [what, header, denied] of cases) {
    test(`does not admit ${what}`, () => {
      expect(gate().admit(header, "plants:create", 0)).toBe(denied as "bad-credentials");
    });
  }

  test("admits a valid token every time, whatever the case of the scheme", () => {
    const one = gate();
    for (const scheme of ["Bearer", "bearer", "BEARER ", "Bearer"]) {
      expect(one.admit(`${scheme} ${secret}`, "plants:create", 0)).toMatchObject({ name: "greenhouse" });
    }
  });

  test("denies a token without the scope", () => {
    expect(gate().admit(`Bearer ${secret}`, "operator", 0)).toBe("lacks-scope");
  });

  test("does not admit an expired token, even if it was admitted before", () => {
    const one = gate();
    expect(one.admit(`Bearer ${secret}`, "plants:create", 999)).toMatchObject({ name: "greenhouse" });
    expect(one.admit(`Bearer ${secret}`, "plants:create", 1000)).toBe("bad-credentials");
  });

  test("denies a revoked token immediately, even if it was admitted before", () => {
    const one = gate();
    one.admit(`Bearer ${secret}`, "plants:create", 0);
    one.update([{ ...token, revokedAtMs: 1 }]);
    expect(one.admit(`Bearer ${secret}`, "plants:create", 0)).toBe("bad-credentials");
  });
});

// Whoever can measure a difference learns whether a secret once was a token.
test("the gate needs the same time to refuse an expired, a revoked and an unknown token", () => {
  const made = new Gate([]);
  const [expired, revoked, unknown] = [mintSecret(), mintSecret(), mintSecret()];
  made.update([
    { ...token, digest: digestOf(expired) },
    { ...token, digest: digestOf(revoked), revokedAtMs: 1 },
  ]);
  // It was admitted before it expired, as any real one was.
  made.admit(`Bearer ${expired}`, "plants:create", 0);
  const samples = [expired, revoked, unknown].map((secret) => ({
    header: `Bearer ${secret}`,
    ns: [] as number[],
  }));
  for (let round = 0; round < 2000; round++)
    for (const { header, ns } of samples) {
      const start = Bun.nanoseconds();
      for (let times = 0; times < 10; times++)
        if (made.admit(header, "plants:create", 2000) !== "bad-credentials") throw new Error("admitted");
      ns.push(Bun.nanoseconds() - start);
    }
  const medians = samples.map(({ ns }) => ns.sort((a, b) => a - b)[ns.length / 2] ?? 0);
  // A hash makes up nearly all of it; without one an expired token took a tenth.
  expect(Math.min(...medians) / Math.max(...medians)).toBeGreaterThan(0.6);
});

describe("the uses of tokens", () => {
  const live: Token = { ...token, expiresAtMs: undefined };

  test("are collected once for each period, however many requests there were", () => {
    const made = new Gate([]);
    made.update([live]);
    for (const nowMs of [10, 20, 30]) made.admit(`Bearer ${secret}`, "plants:create", nowMs);
    expect(made.takeUses()).toEqual([{ digest: token.digest, atMs: 10 }]);
    expect(made.takeUses()).toEqual([]);
    made.admit(`Bearer ${secret}`, "plants:create", 40);
    expect(made.takeUses()).toEqual([{ digest: token.digest, atMs: 40 }]);
  });

  test("are not collected for unknown, expired and preset tokens", () => {
    const preset = { name: "preset", scopes: ["metrics"], expiresAtMs: undefined } as const;
    const made = new Gate([{ ...preset, digest: digestOf("preset-secret-0123456789") }]);
    made.update([token]);
    made.admit(`Bearer ${secret}`, "plants:create", 1000);
    made.admit(`Bearer ${mintSecret()}`, "plants:create", 0);
    made.admit("Bearer preset-secret-0123456789", "metrics", 0);
    expect(made.takeUses()).toEqual([]);
  });

  test("that could not be written are written with the next ones, the latest of each token", async () => {
    const written: unknown[] = [];
    const failures: unknown[] = [];
    let available = false;
    const tokens = {
      async recordUses(uses: readonly TokenUse[]) {
        if (!available) throw new Error("unavailable");
        written.push(uses);
      },
    } as unknown as TokenStore;
    const events = { usesNotWritten: (reason: unknown) => failures.push(reason) } as never;
    const made = gate();
    const upkeep = new TokenUpkeep({ tokens, gate: made, events, delivery: undefined, writeNew: () => {} });
    // Stopping writes them, as it does every minute.
    const write = () => upkeep[Symbol.asyncDispose]();
    made.admit(`Bearer ${secret}`, "plants:create", 4);
    await write();
    made.admit(`Bearer ${secret}`, "plants:create", 5);
    await write();
    expect([written.length, failures.length]).toEqual([0, 2]);
    available = true;
    await write();
    await write();
    expect(written).toEqual([[{ digest: token.digest, atMs: 5 }]]);
  });
});

describe("a preset token", () => {
  const preset = { name: "preset-access", scopes: ["plants:create"], expiresAtMs: undefined } as const;
  const both: Token = { ...token, scopes: ["plants:create", "operator"], expiresAtMs: undefined };
  const stored: [string, Token[]][] = [
    ["is not stored", []],
    ["is stored with more scopes", [both]],
    ["is stored without the preset's scope", [{ ...both, scopes: ["operator"] }]],
    ["is stored and revoked", [{ ...both, revokedAtMs: 1 }]],
    ["is stored and expired", [{ ...both, expiresAtMs: 1 }]],
  ];
  for (const [what, tokens] of stored) {
    test(`has only its own scope if its secret ${what}`, () => {
      const made = new Gate([{ ...preset, digest: digestOf(secret) }]);
      made.update(tokens);
      expect(made.admit(`Bearer ${secret}`, "plants:create", 2)).toMatchObject({ name: "preset-access" });
      expect(made.admit(`Bearer ${secret}`, "operator", 2)).toBe("lacks-scope");
    });
  }
});

describe("a rate limit", () => {
  test("is read from what was written", () => {
    for (const text of ["1/s", "5000/m", "999999999/h"])
      expect(formatRate(parseRateText(text) ?? { count: 0, perMs: 0 })).toBe(text);
    for (const text of ["", "0/s", "1/d", "none", "1.5/s"]) expect(parseRateText(text)).toBeUndefined();
  });

  test("allows a burst, then a steady rate, for each caller", () => {
    const limit = new RateLimit({ count: 10, perMs: 1000 });
    for (let taken = 0; taken < 10; taken++) expect(limit.take("a", 0)).toBe(0);
    expect(limit.take("a", 0)).toBe(100);
    expect(limit.take("b", 0)).toBe(0);
    expect(limit.take("a", 100)).toBe(0);
    expect(limit.take("a", 100)).toBeGreaterThan(0);
  });

  for (const count of [1, 3, 7, 30, 60, 999]) {
    test(`of ${count} per second allows a burst of ${count} and no more`, () => {
      const limit = new RateLimit({ count, perMs: 1000 });
      const taken = Array.from({ length: count + 1 }, () => limit.take("a", 1_794_700_000_000));
      expect(taken.filter((waitMs) => waitMs === 0)).toHaveLength(count);
    });
  }

  test("of a caller's own replaces the default, and works without one", () => {
    const own = { count: 1, perMs: 1000 };
    const allowed = (limit: RateLimit, caller: string, rate?: Rate) =>
      Array.from({ length: 5 }, () => limit.take(caller, 0, rate)).filter((waitMs) => waitMs === 0).length;
    const limit = new RateLimit({ count: 3, perMs: 1000 });
    expect([allowed(limit, "a"), allowed(limit, "b", own)]).toEqual([3, 1]);
    const none = new RateLimit(undefined);
    expect([allowed(none, "c"), allowed(none, "d", own), allowed(none, "d", own)]).toEqual([5, 1, 0]);
  });

  test("that is lowered holds nobody back for longer than its own burst", () => {
    const limit = new RateLimit({ count: 1, perMs: 3_600_000 });
    expect(limit.take("a", 0)).toBe(0);
    expect(limit.take("a", 0, { count: 10, perMs: 1000 })).toBe(100);
  });

  test("is each caller's own for 100,000 callers", () => {
    const limit = new RateLimit({ count: 1, perMs: 1000 });
    const refused = (nowMs: number) =>
      Array.from({ length: 100_000 }, (_, caller) => limit.take(`caller ${caller}`, nowMs)).filter(Boolean)
        .length;
    expect(refused(0)).toBe(0);
    expect(refused(0)).toBe(100_000);
  });

  test("forgets the caller that was idle longest when there are too many", () => {
    const limit = new RateLimit({ count: 1, perMs: 10_000 }, 3);
    for (const [atMs, caller] of ["a", "b", "c"].entries()) expect(limit.take(caller, atMs)).toBe(0);
    // A refused request counts as one too: being refused does not make a caller forgotten.
    expect(limit.take("a", 3)).toBeGreaterThan(0);
    expect(limit.take("new", 4)).toBe(0);
    expect(limit.take("a", 5)).toBeGreaterThan(0);
    expect(limit.take("c", 5)).toBeGreaterThan(0);
    expect(limit.take("b", 5)).toBe(0);
  });
});
