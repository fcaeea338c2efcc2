import { describe, expect, test } from "bun:test";
import { CompactSign, type JWTPayload } from "jose";
import { eventually } from "../../test/support/eventually.ts";
import {
  alice,
  createKey,
  oidcSettings,
  sign,
  soon,
  startGate,
} from "../../test/support/simulated-provider.ts";
import { callerOf, JwtVerifier } from "./jwt-verifier.ts";
import type { JwtCaller } from "./provider-keys.ts";

const one = await createKey("one");

describe("a verified token", () => {
  test.each(["PS512", "ES256", "ES384", "ES512", "EdDSA"])("may be signed with %s", async (alg) => {
    const key = await createKey("key", alg);
    using provider = await startGate([key.jwk]);
    const { admit } = provider;
    expect(await admit(await sign(key))).toMatchObject(alice);
  });

  test("is remembered until it expires", async () => {
    using provider = await startGate([one.jwk]);
    const { known, admit } = provider;
    const jwt = await sign(one);
    expect(known(jwt)).toBe("unverified");
    await admit(jwt);
    expect(known(jwt)).toMatchObject(alice);
    expect(known(jwt, soon() * 1000)).toBe("bad-credentials");
  });

  describe("that was accepted with 9,999 others", () => {
    async function acceptMany() {
      const provider = await startGate([one.jwk]);
      const jwt = await sign(one);
      const caller = (await provider.admit(jwt)) as JwtCaller;
      const accepted = provider.keys.current?.accepted as Map<string, JwtCaller>;
      for (let other = 1; other < 10_000; other++) accepted.set(String(other), caller);
      provider.gate.update([]);
      return { ...provider, jwt, accepted };
    }

    test("is remembered", async () => {
      using provider = await acceptMany();
      const { known, jwt } = provider;
      expect(known(jwt)).toMatchObject(alice);
    });

    test("is verified again after one more", async () => {
      using provider = await acceptMany();
      const { gate, known, admit, jwt, accepted } = provider;
      await admit(await sign(one));
      gate.update([]);
      expect(known(jwt)).toBe("unverified");
      expect(accepted.size).toBe(10_000);
    });
  });

  // Not by JSON.stringify, which has no word for infinity.
  const signTimes = (times: string) => {
    const claims = `{"iss":"${oidcSettings.issuer}","aud":"plants","sub":"alice","scope":"operator",${times}}`;
    return new CompactSign(new TextEncoder().encode(claims))
      .setProtectedHeader({ alg: one.alg, kid: one.kid, typ: "JWT" })
      .sign(one.privateKey);
  };
  test.each(['"exp":1e999', '"exp":1e12,"nbf":-1e999', '"exp":1e12,"iat":1e999'])(
    "is refused with a time that is not finite: %s",
    async (times) => {
      using provider = await startGate([one.jwk]);
      const { admit } = provider;
      expect(await admit(await signTimes(times))).toBe("bad-credentials");
    },
  );
  test("may expire in the far future", async () => {
    using provider = await startGate([one.jwk]);
    const { admit } = provider;
    expect(await admit(await signTimes('"exp":1e12,"nbf":0,"iat":0'))).toMatchObject(alice);
  });

  const names: [JWTPayload, string][] = [
    [{ client_id: "greenhouse", sub: "x" }, "oidc:client:greenhouse"],
    [{ sub: "alice" }, "oidc:user:alice"],
    [{ client_id: "console", sub: "alice" }, "oidc:user:alice"],
    [{ client_id: "теплица 5" }, "oidc:client:теплица 5"],
    [{ client_id: null, sub: "alice" }, "oidc:user:alice"],
  ];
  test.each(names)("with the claims %j is that of %s", (claims, name) => {
    expect(callerOf(claims, oidcSettings)?.name).toBe(name);
  });

  test.each([[{ client_id: "" }], [{ client_id: 7 }], [{}]])("with the claims %j is nobody's", (claims) => {
    expect(callerOf(claims, oidcSettings)).toBeUndefined();
  });

  test("expires at a time that a Date can hold", () => {
    expect(callerOf({ sub: "alice", exp: 1e300 }, oidcSettings)?.expiresAtMs).toBe(8.64e15);
  });

  const awkward: [string, string][] = [
    ["53 characters", "x".repeat(53)],
    ["54 characters", "x".repeat(54)],
    ["a line feed", "a\nb"],
    ["a mark that reverses text", "\u202eecila"],
    ["a space in front", " a"],
    ["a Cyrillic letter", "gr\u0435enhouse"],
    ["a full-width letter", "ｇreen"],
    ["two spaces", "a  b"],
    ["an emoji", "🌱"],
  ];
  test.each(awkward)("has a bounded and printable name for a user with %s", (_, sub) => {
    expect(callerOf({ sub }, oidcSettings)?.name).toMatch(/^oidc:user:[0-9a-f]{32}$/);
  });

  test("has a name that differs from that of every other user", () => {
    const all = awkward.map(([, sub]) => callerOf({ sub }, oidcSettings)?.name);
    expect(new Set(all).size).toBe(awkward.length);
  });

  const scopes: [JWTPayload, string[]][] = [
    [{ scope: "plants:create openid operator" }, ["plants:create", "operator"]],
    [{ scp: "operator" }, ["operator"]],
    [{ scp: ["plants:create", "everything", 7] }, ["plants:create"]],
    [{ scope: "Operator operatorX" }, []],
    [{ scope: { operator: true } }, []],
    [{}, []],
  ];
  test.each(scopes)("with the claims %j has the scopes %j", (claims, expected) => {
    expect<readonly string[] | undefined>(callerOf({ sub: "x", ...claims }, oidcSettings)?.scopes).toEqual(
      expected,
    );
  });
});

describe("signatures", () => {
  /** A verifier whose signatures are checked, and whose keys are fetched, when a test says so. */
  function startVerifier() {
    const checking: (() => void)[] = [];
    const fetched = Promise.withResolvers<boolean>();
    const verifier = new JwtVerifier(oidcSettings, {
      current: {
        provider: { keys: [one.jwk], authorizationEndpoint: undefined, tokenEndpoint: undefined },
        verify: () => new Promise<never>((_, reject) => checking.push(() => reject(new Error("forged")))),
        accepted: new Map(),
      },
      fetchUnknown: () => fetched.promise,
    });
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const ended: string[] = [];
    const verify = async (name: string, kid = "one", isAwaited = () => true) => {
      await verifier.verify(`${part({ alg: "RS256", kid, typ: "JWT" })}.${part({})}.${part({})}`, isAwaited);
      ended.push(name);
    };
    /** Ends the checks of so many signatures, one after another. Returns how many were being checked at most. */
    const check = async (count: number) => {
      let most = 0;
      for (let checked = 0; checked < count; checked++) {
        await eventually(() => checking.length > checked);
        most = Math.max(most, checking.length - checked);
        checking[checked]?.();
      }
      return most;
    };
    return { verify, check, checking, ended, fetched };
  }
  const names = Array.from({ length: 12 }, (_, index) => String(index));

  test("are checked four at a time", async () => {
    const { verify, check } = startVerifier();
    const verifying = names.map((name) => verify(name));
    expect(await check(12)).toBe(4);
    await Promise.all(verifying);
  });

  test("are checked in the order in which they arrived", async () => {
    const { verify, check, ended } = startVerifier();
    const verifying = names.map((name) => verify(name));
    await check(12);
    await Promise.all(verifying);
    expect(ended).toEqual(names);
  });

  test("are not checked for a client that has gone", async () => {
    const { verify, check, checking } = startVerifier();
    const verifying = names.map((name) => verify(name));
    const gone = verify("gone", "one", () => false);
    await check(12);
    await Promise.all([...verifying, gone]);
    expect(checking).toHaveLength(12);
  });

  test("do not wait for tokens that wait for a fetch of the keys", async () => {
    const { verify, check, checking, ended, fetched } = startVerifier();
    const unknown = Array.from({ length: 10 }, () => verify("unknown", "two"));
    const known = names.map((name) => verify(name));
    await check(12);
    await Promise.all(known);
    expect(ended).toEqual(names);
    fetched.resolve(true);
    await Promise.all(unknown);
    // The key was not among them, so there was nothing to check.
    expect(checking).toHaveLength(12);
  });
});
