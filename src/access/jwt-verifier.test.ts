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
import { RecentMap } from "../cache/recent-map.ts";
import { callerOf, JwtVerifier } from "./jwt-verifier.ts";
import type { Caller, Scope } from "./scopes.ts";

const one = await createKey("one");

describe("a verified token", () => {
  test.each(["PS512", "ES256", "ES384", "ES512", "EdDSA"])("may be signed with %s", async (alg) => {
    const key = await createKey("key", alg);
    using provider = await startGate([key.jwk]);
    expect(await provider.admit(await sign(key))).toMatchObject(alice);
  });

  test("is remembered until it expires", async () => {
    using provider = await startGate([one.jwk]);
    const jwt = await sign(one);
    expect(provider.known(jwt)).toBe("unverified");
    await provider.admit(jwt);
    expect(provider.known(jwt)).toMatchObject(alice);
    expect(provider.known(jwt, soon() * 1000)).toBe("bad-credentials");
  });

  test("is forgotten no sooner than 10,000 others were accepted after it", async () => {
    using provider = await startGate([one.jwk]);
    const jwt = await sign(one);
    const caller = (await provider.admit(jwt)) as Caller;
    const acceptOthers = (from: number, to: number) => {
      for (let other = from; other < to; other++) provider.keys.current?.accepted.set(String(other), caller);
      // What the gate remembers by the whole header.
      provider.gate.update([]);
    };
    acceptOthers(0, 9999);
    expect(provider.known(jwt)).toMatchObject(alice);
    acceptOthers(9999, 30_000);
    expect(provider.known(jwt)).toBe("unverified");
  });

  // Not by JSON.stringify, which has no word for infinity.
  const signTimes = (times: string) => {
    const claims = `{"iss":"${oidcSettings.issuer}","aud":"plants","sub":"alice","scope":"operator",${times}}`;
    return new CompactSign(new TextEncoder().encode(claims))
      .setProtectedHeader({ alg: one.alg, kid: one.kid, typ: "JWT" })
      .sign(one.privateKey);
  };
  test("may expire at any time that a Date can hold", async () => {
    using provider = await startGate([one.jwk]);
    const admit = async (times: string) => provider.admit(await signTimes(times));
    expect(await admit('"exp":864e10,"nbf":0,"iat":0')).toMatchObject(alice);
    for (const times of ['"exp":1e999', '"exp":8640000000001', '"exp":864e10,"nbf":1e999'])
      expect([times, await admit(times)]).toEqual([times, "bad-credentials"]);
  });

  test("is its client's if that acts for itself, otherwise its user's", () => {
    const names: [JWTPayload, string | undefined][] = [
      [{ client_id: "greenhouse", sub: "x" }, "oidc:client:greenhouse"],
      [{ sub: "alice" }, "oidc:user:alice"],
      [{ client_id: "console", sub: "alice" }, "oidc:user:alice"],
      [{ client_id: "теплица 5" }, "oidc:client:теплица 5"],
      [{ client_id: null, sub: "alice" }, "oidc:user:alice"],
      [{ client_id: "" }, undefined],
      [{ client_id: 7 }, undefined],
      [{}, undefined],
    ];
    const named = names.map(([claims]) => [claims, callerOf(claims, oidcSettings)?.name]);
    expect(named).toEqual(names);
  });

  test("has a bounded and printable name of its own for a user whose name is neither", () => {
    const subjects = ["x".repeat(53), "x".repeat(54), "a\nb", "\u202eecila", " a", "a  b", "🌱"];
    // A Cyrillic letter among Latin ones, and a full-width letter.
    subjects.push("gr\u0435enhouse", "ｇreen");
    const names = subjects.map((sub) => callerOf({ sub }, oidcSettings)?.name);
    expect(names).toEqual(subjects.map(() => expect.stringMatching(/^oidc:user:[0-9a-f]{32}$/)));
    expect(new Set(names).size).toBe(subjects.length);
  });

  test("has those of its scopes that there are, by either claim", () => {
    const scopes: [JWTPayload, Scope[]][] = [
      [{ scope: "plants:create openid operator" }, ["plants:create", "operator"]],
      [{ scp: "operator" }, ["operator"]],
      [{ scp: ["plants:create", "everything", 7] }, ["plants:create"]],
      [{ scope: "Operator operatorX" }, []],
      [{ scope: { operator: true } }, []],
      [{}, []],
    ];
    const scopesOf = (claims: JWTPayload) => [
      ...(callerOf({ sub: "x", ...claims }, oidcSettings)?.scopes ?? []),
    ];
    expect(scopes.map(([claims]) => [claims, scopesOf(claims)])).toEqual(scopes);
  });
});

describe("signatures", () => {
  /** A verifier whose signatures are checked, and whose keys are fetched, when a test says so. */
  function startVerifier() {
    const checking: (() => void)[] = [];
    const fetched = Promise.withResolvers<boolean>();
    const verifier = new JwtVerifier({
      settings: oidcSettings,
      current: {
        provider: { keys: [one.jwk], authorizationEndpoint: undefined, tokenEndpoint: undefined },
        verify: () => new Promise<never>((_, reject) => checking.push(() => reject(new Error("forged")))),
        accepted: new RecentMap(2),
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

  test("are checked four at a time, in the order in which they arrived", async () => {
    const { verify, check, ended } = startVerifier();
    const verifying = names.map((name) => verify(name));
    expect(await check(12)).toBe(4);
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
