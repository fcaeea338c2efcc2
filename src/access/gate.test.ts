import { describe, expect, spyOn, test } from "bun:test";
import { createHash } from "node:crypto";
import { gateOf, secret, token } from "../../test/support/gate.ts";
import { digestOf, mintSecret } from "./token-secret.ts";
import type { Token } from "./tokens.ts";

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

  test("denies a token once it has expired, even if it was admitted before", () => {
    const { admit } = gateOf();
    expect(admit(999)).toMatchObject({ name: "greenhouse" });
    expect(admit(1000)).toBe("bad-credentials");
  });

  test("denies a token once it is revoked, even if it was admitted before", () => {
    const { gate, admit } = gateOf();
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

describe("a preset token has only its own scope", () => {
  const preset = { name: "preset-access", scopes: ["plants:create"], expiresAtMs: undefined } as const;
  const both: Token = { ...token, scopes: ["plants:create", "operator"], expiresAtMs: undefined };

  test.each<[string, Token[]]>([
    ["if its secret is stored nowhere", []],
    ["beside a stored token with both scopes", [both]],
    ["beside a stored token with the other scope", [{ ...both, scopes: ["operator"] }]],
    ["beside a revoked token", [{ ...both, revokedAtMs: 1 }]],
    ["beside an expired token", [{ ...both, expiresAtMs: 1 }]],
  ])("%s", (_, stored) => {
    const { gate, admit } = gateOf(stored, [{ ...preset, digest: digestOf(secret) }]);
    expect(admit(2)).toMatchObject({ name: "preset-access" });
    expect(gate.admit(`Bearer ${secret}`, "operator", 2)).toBe("lacks-scope");
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

  test("are not collected for an expired token", () => {
    const { gate, admit } = gateOf();
    expect(admit(1000)).toBe("bad-credentials");
    expect(gate.takeUses()).toEqual([]);
  });

  test("are not collected for an unknown token", () => {
    const { gate, admit } = gateOf();
    expect(admit(0, `Bearer ${mintSecret()}`)).toBe("bad-credentials");
    expect(gate.takeUses()).toEqual([]);
  });

  test("are not collected for a preset token", () => {
    const preset = { name: "preset", scopes: ["plants:create"], expiresAtMs: undefined } as const;
    const { gate, admit } = gateOf([token], [{ ...preset, digest: digestOf("preset-secret-0123456789") }]);
    expect(admit(0, "Bearer preset-secret-0123456789")).toMatchObject(preset);
    expect(gate.takeUses()).toEqual([]);
  });
});
