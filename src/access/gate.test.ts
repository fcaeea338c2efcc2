import { describe, expect, spyOn, test } from "bun:test";
import { createHash } from "node:crypto";
import { gateOf, secret, token } from "../../test/support/gate.ts";
import type { Token } from "./token.ts";
import { digestOf, mintSecret } from "./token-secret.ts";

describe("the gate", () => {
  test("admits nobody without a valid token after the scheme", () => {
    const headers = {
      "no-credentials": [undefined, "Basic Zm9vOmJhcg==", `Bearer${secret}`],
      "bad-credentials": [
        "Bearer",
        `Bearer ${mintSecret()}`,
        `Bearer ${secret}, Bearer ${secret}`,
        `Bearer ${secret} x`,
        // A digest in place of the secret, and a JWT without an identity provider.
        `Bearer ${token.digest}`,
        "Bearer eyJ.eyJ.c2ln",
      ],
    };
    const { gate } = gateOf();
    for (const [denied, all] of Object.entries(headers))
      expect(all.filter((header) => gate.admit(header, 0) !== denied)).toEqual([]);
  });

  test("admits a valid token every time, however its scheme is written", () => {
    const { admit } = gateOf();
    for (const scheme of ["Bearer", "bearer", "BEARER "]) {
      expect(admit(0, `${scheme} ${secret}`)).toMatchObject({ name: "greenhouse" });
      expect(admit(0, `${scheme} ${secret}`)).toMatchObject({ name: "greenhouse" });
    }
  });

  test("denies a token that is expired or revoked, even if it was admitted before", () => {
    const { gate, admit } = gateOf();
    expect(admit(999)).toMatchObject({ name: "greenhouse" });
    expect(admit(1000)).toBe("bad-credentials");
    expect(admit(999)).toMatchObject({ name: "greenhouse" });
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

test("a preset token has only its own scope, whether its secret is stored too, with whatever scopes", () => {
  const preset = { name: "preset-access", scopes: ["plants:create"], expiresAtMs: undefined } as const;
  const both: Token = { ...token, scopes: ["plants:create", "operator"], expiresAtMs: undefined };
  const others: Token[] = [
    { ...both, scopes: ["operator"] },
    { ...both, revokedAtMs: 1 },
    { ...both, expiresAtMs: 1 },
  ];
  for (const stored of [[], [both], ...others.map((other) => [other])]) {
    const { admit } = gateOf(stored, [{ ...preset, digest: digestOf(secret) }]);
    expect(admit(2)).toMatchObject({ name: "preset-access", scopes: ["plants:create"] });
  }
});

describe("the uses of tokens", () => {
  test("are collected once for each period, however many requests there were", () => {
    const { gate, admit } = gateOf();
    for (const nowMs of [10, 20, 30]) admit(nowMs);
    expect(gate.uses.get(token.digest)).toBe(10);
    expect(gate.takeUses()).toEqual([{ digest: token.digest, atMs: 10 }]);
    expect(gate.takeUses()).toEqual([]);
    admit(40);
    expect(gate.takeUses()).toEqual([{ digest: token.digest, atMs: 40 }]);
  });

  test("are not collected for a preset token, or one that is expired or unknown", () => {
    const presetSecret = "preset-secret-0123456789";
    const preset = { name: "preset", scopes: ["plants:create"], expiresAtMs: undefined } as const;
    const { gate, admit } = gateOf([token], [{ ...preset, digest: digestOf(presetSecret) }]);
    expect(admit(0, `Bearer ${presetSecret}`)).toMatchObject(preset);
    expect(admit(1000)).toBe("bad-credentials");
    expect(admit(0, `Bearer ${mintSecret()}`)).toBe("bad-credentials");
    expect(gate.takeUses()).toEqual([]);
  });
});
