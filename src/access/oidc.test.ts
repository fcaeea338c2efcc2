import { afterEach, describe, expect, mock, spyOn, test } from "bun:test";
import { CompactSign, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import { eventually } from "../../test/harness.ts";
import { Gate } from "./gate.ts";
import { callerOf, JwtVerifier, type OidcSettings } from "./jwt-verifier.ts";
import { isTrustedUrl, type JwtCaller, ProviderKeys } from "./provider-keys.ts";

const settings: OidcSettings = {
  issuer: "https://id.example.org",
  audience: "plants",
  clientId: "console",
};
const minuteMs = 60_000;
const alice = { name: "oidc:user:alice" };
const soon = () => Math.floor(Date.now() / 1000) + 300;
const always = () => true;

async function createKey(kid: string, alg = "ES256") {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } as JWK, kid, alg };
}
type Key = Awaited<ReturnType<typeof createKey>>;
const [one, two, three] = [await createKey("one"), await createKey("two"), await createKey("three")];

function sign({ privateKey, kid, alg }: Key, claims: object = {}): Promise<string> {
  const all = {
    iss: settings.issuer,
    aud: "plants",
    exp: soon(),
    sub: "alice",
    scope: "operator",
    ...claims,
  };
  return new SignJWT({ ...all, jti: crypto.randomUUID() })
    .setProtectedHeader({ alg, kid, typ: "JWT" })
    .sign(privateKey);
}

afterEach(() => {
  mock.restore();
});

function provide(respond: (url: string, init: RequestInit) => Promise<Response>): void {
  spyOn(globalThis, "fetch").mockImplementation(respond as typeof fetch);
}

/** A gate whose provider and clock a test controls: nothing is sent, and nothing waits. */
async function start(first: readonly JWK[] = []) {
  const state = {
    keys: first,
    up: true,
    asked: 0,
    metadata: { issuer: settings.issuer, jwks_uri: `${settings.issuer}/jwks` } as object,
    respond: undefined as (() => Response | Promise<Response>) | undefined,
  };
  provide(async (url) => {
    if (!state.up) return new Response("", { status: 500 });
    if (!url.endsWith("/jwks")) return Response.json(state.metadata);
    state.asked++;
    return state.respond?.() ?? Response.json({ keys: state.keys });
  });
  const log: string[] = [];
  const events = {
    providerUnavailable: (reason: string) => log.push(reason),
    providerAvailable: () => log.push("available"),
    keysChanged: () => gate.forgetJwts(),
  };
  let nowMs = 0;
  const keys = new ProviderKeys(settings.issuer, events, () => nowMs);
  const gate = new Gate([], new JwtVerifier(settings, keys));
  /** What the gate knows without verifying. */
  const known = (jwt: string, nowMs = Date.now()) => gate.admit(`Bearer ${jwt}`, "operator", nowMs);
  const admit = async (jwt: string) => {
    const caller = known(jwt);
    return caller === "unverified" ? gate.verify(`Bearer ${jwt}`, "operator", always) : caller;
  };
  /** Lets this much time pass, and then fetches the keys. */
  const pass = (ms: number) => {
    nowMs += ms;
    return keys.update();
  };
  await keys.update();
  return { state, log, keys, gate, known, admit, pass };
}

describe("keys of an issuer", () => {
  test("are fetched at the start, and then every minute", async () => {
    const { state, keys } = await start();
    using interval = spyOn(globalThis, "setInterval");
    using _ = keys;
    keys.start();
    await eventually(() => state.asked === 2);
    expect(interval.mock.calls).toEqual([[expect.any(Function), minuteMs]]);
    for (const [update] of interval.mock.calls) (update as () => void)();
    await eventually(() => state.asked === 3);
  });

  test("a withdrawn key ends the tokens that were admitted before, and streams that they opened", async () => {
    const { state, gate, known, admit, pass } = await start([one.jwk, two.jwk]);
    const [ended, alive] = [await sign(one), await sign(two)];
    expect([await admit(ended), await admit(alive)]).toMatchObject([alice, alice]);
    const [mayEnded, mayAlive] = [ended, alive].map((jwt) => gate.watch(`Bearer ${jwt}`, "operator"));
    expect([mayEnded?.(), mayAlive?.()]).toEqual([true, true]);
    state.keys = [two.jwk];
    await pass(minuteMs);
    await eventually(() => mayEnded?.() === false);
    expect(await admit(ended)).toBe("bad-credentials");
    // All are forgotten; this one is verified again and goes on.
    expect(mayAlive?.()).toBe(true);
    await eventually(() => typeof known(alive) !== "string");
    expect(mayAlive?.()).toBe(true);
    state.keys = [{ ...three.jwk, kid: "two" }];
    await pass(minuteMs);
    expect(await admit(alive)).toBe("bad-credentials");
  });

  test("that stay the same forget no token", async () => {
    const { state, known, admit, pass } = await start([one.jwk, two.jwk]);
    const jwt = await sign(one);
    await admit(jwt);
    await pass(minuteMs);
    expect(state.asked).toBe(2);
    expect(known(jwt)).toMatchObject(alice);
    state.keys = [one.jwk, two.jwk, three.jwk];
    await pass(minuteMs);
    expect(known(jwt)).toBe("unverified");
    expect(await admit(jwt)).toMatchObject(alice);
  });

  test("that change while a token is being verified do not refuse it, unless its key is gone", async () => {
    const { state, gate, pass } = await start([one.jwk]);
    for (const [keys, expected] of [
      [[one.jwk, two.jwk], expect.objectContaining(alice)],
      [[two.jwk], "bad-credentials"],
    ] as const) {
      const verifying = gate.verify(`Bearer ${await sign(one)}`, "operator", always);
      state.keys = keys;
      await pass(minuteMs);
      expect(await verifying).toEqual(expected);
    }
  });

  test("a new key is found when a token names it, but that makes it ask once in 10 seconds only", async () => {
    const { state, admit, pass } = await start([one.jwk]);
    state.keys = [one.jwk, two.jwk];
    expect(await admit(await sign(two))).toMatchObject(alice);
    for (const kid of ["no-1", "no-2", "no-3"])
      expect(await admit(await sign({ ...one, kid }))).toBe("bad-credentials");
    expect(state.asked).toBe(2);
    await pass(10_000);
    state.keys = [one.jwk, three.jwk];
    expect(await admit(await sign(three))).toMatchObject(alice);
    expect(state.asked).toBe(4);
  });

  describe("that nobody knows", () => {
    const unknown = () => sign({ ...one, kid: "unknown" });

    test("refuse a token if the provider has just published others", async () => {
      const { admit, pass } = await start([one.jwk]);
      await pass(minuteMs);
      expect(await admit(await unknown())).toBe("bad-credentials");
    });

    test("cannot be decided while the provider does not respond", async () => {
      const { state, admit, pass } = await start([one.jwk]);
      state.up = false;
      await pass(minuteMs);
      // The first makes it fetch, and that fails; the second does not.
      expect(await admit(await unknown())).toBe("issuer-unavailable");
      expect(await admit(await unknown())).toBe("issuer-unavailable");
    });

    test("cannot be decided by keys that were fetched before the provider stopped responding", async () => {
      const { state, admit, pass } = await start([one.jwk]);
      await pass(minuteMs);
      state.up = false;
      await pass(10_000);
      expect(await admit(await unknown())).toBe("issuer-unavailable");
    });

    test("refuse a token once the provider responds again", async () => {
      const { state, admit, pass } = await start([one.jwk]);
      state.up = false;
      await pass(minuteMs);
      expect(await admit(await unknown())).toBe("issuer-unavailable");
      state.up = true;
      await pass(1000);
      expect(await admit(await unknown())).toBe("bad-credentials");
    });

    test("continue after a fetch in turns, at most 256 tokens in each", async () => {
      const { state, keys, pass } = await start([one.jwk]);
      const responding = Promise.withResolvers<Response>();
      state.respond = () => responding.promise;
      const passing = pass(minuteMs);
      let decided = 0;
      for (let token = 0; token < 600; token++) void keys.fetchUnknown().then(() => decided++);
      responding.resolve(Response.json({ keys: [one.jwk] }));
      await passing;
      let decidedBefore = 0;
      let mostInOneTurn = 0;
      while (decided < 600) {
        await new Promise((resolve) => setImmediate(resolve));
        mostInOneTurn = Math.max(mostInOneTurn, decided - decidedBefore);
        decidedBefore = decided;
      }
      expect(mostInOneTurn).toBe(256);
    });

    test("wait for a fetch that runs, and its failure leaves them undecided", async () => {
      const { state, admit, pass } = await start([one.jwk]);
      const responding = Promise.withResolvers<Response>();
      state.respond = () => responding.promise;
      const passing = pass(minuteMs);
      const deciding = admit(await unknown());
      responding.resolve(new Response("", { status: 500 }));
      expect(await deciding).toBe("issuer-unavailable");
      await passing;
    });
  });

  test("an unreachable issuer locks out nobody whose key is known, until the keys are an hour old", async () => {
    const { state, admit, pass, log } = await start([one.jwk]);
    const before = await sign(one);
    expect(await admit(before)).toMatchObject(alice);
    state.up = false;
    for (let minute = 0; minute < 59; minute++) await pass(minuteMs);
    expect([await admit(before), await admit(await sign(one))]).toMatchObject([alice, alice]);
    await pass(minuteMs);
    expect(await admit(before)).toBe("issuer-unavailable");
    state.up = true;
    await pass(10_000);
    expect(await admit(before)).toMatchObject(alice);
    expect(log).toEqual([expect.stringContaining("the response is 500"), "available"]);
  });

  const otherwise: [string, () => Response, object, string][] = [
    ["too many bytes", () => new Response("x".repeat(600_000)), {}, "over the limit"],
    ["no JSON", () => new Response("<html>"), {}, "not JSON"],
    ["no list", () => Response.json({ keys: {} }), {}, "not a list"],
    ["a list of something else", () => Response.json({ keys: ["a key"] }), {}, "malformed"],
    ["null", () => Response.json(null), {}, "not a list"],
    ["another issuer", Response.error, { issuer: `${settings.issuer}/` }, "names an issuer other than"],
    ["a URL without https", Response.error, { jwks_uri: "http://id.example.org/" }, "is not an https URL"],
  ];
  test.each(otherwise)("are not read from %s", async (_, respond, metadata, reason) => {
    const { state, admit, pass, log } = await start([one.jwk]);
    state.respond = respond;
    state.metadata = { ...state.metadata, ...metadata };
    await pass(minuteMs);
    expect(log).toEqual([expect.stringContaining(reason)]);
    expect(await admit(await sign(one))).toMatchObject(alice);
  });

  test("are not read from a redirect, nor from a response that never ends", async () => {
    using stuck = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      fetch: ({ url }) =>
        url.endsWith("/moved")
          ? Response.redirect("/never")
          : new Response(new ReadableStream({ pull: () => new Promise(() => {}) })),
    });
    const send = fetch;
    const reasonOf = async (path: string) => {
      const { promise, resolve: providerUnavailable } = Promise.withResolvers<string>();
      const events = { providerUnavailable, providerAvailable() {}, keysChanged() {} };
      provide((_url, init) => send(new URL(path, stuck.url), init));
      await new ProviderKeys(settings.issuer, events).update();
      return promise;
    };
    expect(await reasonOf("/moved")).toMatch(/redirect/i);
    const timeout = AbortSignal.timeout.bind(AbortSignal);
    using _ = spyOn(AbortSignal, "timeout").mockImplementation((ms) => timeout(ms / 100));
    expect(await reasonOf("/never")).toMatch(/timed out/);
  });

  const trusted: [url: string, issuer: string, isTrusted: boolean][] = [
    ["https://keys.example.org/jwks", "https://id.example.org", true],
    ["http://keys.example.org/jwks", "https://id.example.org", false],
    ["http://127.0.0.1/jwks", "https://id.example.org", false],
    ["http://127.0.0.1:8080/jwks", "http://localhost:8080", true],
    ["http://127.0.0.1.example.org/jwks", "http://localhost:8080", false],
    ["file:///etc/passwd", "http://localhost:8080", false],
    ["/jwks", "http://localhost:8080", false],
  ];
  test("come over https, or from loopback if the issuer is there", () => {
    expect(trusted.map(([url, issuer]) => [url, issuer, isTrustedUrl(url, issuer)])).toEqual(
      trusted as never,
    );
  });
});

describe("a verified token", () => {
  test("may be signed with any of the usual algorithms", async () => {
    const keys = await Promise.all(
      ["PS512", "ES256", "ES384", "ES512", "EdDSA"].map((alg) => createKey(alg, alg)),
    );
    const { admit } = await start(keys.map(({ jwk }) => jwk));
    for (const key of keys) expect(await admit(await sign(key))).toMatchObject(alice);
  });

  test("is remembered until it expires, with 10,000 others; then the one that passed first is verified again", async () => {
    const { keys, gate, known, admit } = await start([one.jwk]);
    const jwt = await sign(one);
    expect(known(jwt)).toBe("unverified");
    const caller = (await admit(jwt)) as JwtCaller;
    expect(known(jwt, soon() * 1000)).toBe("bad-credentials");
    const accepted = keys.current?.accepted as Map<string, JwtCaller>;
    for (let other = 1; other < 10_000; other++) accepted.set(String(other), caller);
    gate.update([]);
    expect(known(jwt)).toMatchObject(alice);
    await admit(await sign(one));
    gate.update([]);
    expect([accepted.size, known(jwt)]).toEqual([10_000, "unverified"]);
  });

  // Not by JSON.stringify, which has no word for infinity.
  const signTimes = (times: string) => {
    const claims = `{"iss":"${settings.issuer}","aud":"plants","sub":"alice","scope":"operator",${times}}`;
    return new CompactSign(new TextEncoder().encode(claims))
      .setProtectedHeader({ alg: one.alg, kid: one.kid, typ: "JWT" })
      .sign(one.privateKey);
  };
  test.each(['"exp":1e999', '"exp":1e12,"nbf":-1e999', '"exp":1e12,"iat":1e999'])(
    "has no time that is not finite: %s is refused",
    async (times) => {
      const { admit } = await start([one.jwk]);
      expect(await admit(await signTimes(times))).toBe("bad-credentials");
    },
  );
  test("may expire in the far future", async () => {
    const { admit } = await start([one.jwk]);
    expect(await admit(await signTimes('"exp":1e12,"nbf":0,"iat":0'))).toMatchObject(alice);
  });

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
  test("is its client's, or the person's who signed in to the console", () => {
    for (const [claims, name] of names)
      expect([claims, callerOf(claims, settings)?.name]).toEqual([claims, name]);
    // A time that a Date can hold.
    expect(callerOf({ sub: "alice", exp: 1e300 }, settings)?.expiresAtMs).toBe(8.64e15);
  });

  test("has a bounded, printable and distinct name, whatever its claims", () => {
    const long = ["x".repeat(53), "x".repeat(54)];
    const claims = [...long, "a\nb", "\u202eecila", " a", "gr\u0435enhouse", "ｇreen", "a  b", "🌱"];
    const all = claims.map((sub) => callerOf({ sub }, settings)?.name ?? "");
    expect(new Set(all).size).toBe(claims.length);
    for (const name of all) expect(name).toMatch(/^oidc:user:[0-9a-f]{32}$/);
  });

  const scopes: [JWTPayload, string[]][] = [
    [{ scope: "plants:create openid operator" }, ["plants:create", "operator"]],
    [{ scp: "operator" }, ["operator"]],
    [{ scp: ["plants:create", "everything", 7] }, ["plants:create"]],
    [{ scope: "Operator operatorX" }, []],
    [{ scope: { operator: true } }, []],
    [{}, []],
  ];
  test("has the scopes that exist", () => {
    for (const [claims, known] of scopes)
      expect([claims, callerOf({ sub: "x", ...claims }, settings)?.scopes]).toEqual([claims, known as never]);
  });
});

test("signatures are checked four at a time, in order; who has gone is skipped, and nobody in the line waits for a fetch", async () => {
  const checking: (() => void)[] = [];
  const fetched = Promise.withResolvers<boolean>();
  const verifier = new JwtVerifier(settings, {
    current: {
      provider: { keys: [one.jwk], authorizationEndpoint: undefined, tokenEndpoint: undefined },
      verify: () => new Promise<never>((_, reject) => checking.push(() => reject(new Error("forged")))),
      accepted: new Map(),
    },
    fetchUnknown: () => fetched.promise,
  });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const ended: string[] = [];
  const verify = async (name: string, kid = "one", isAwaited = always) => {
    await verifier.verify(`${part({ alg: "RS256", kid, typ: "JWT" })}.${part({})}.${part({})}`, isAwaited);
    ended.push(name);
  };
  const unknown = Array.from({ length: 10 }, () => verify("unknown", "two"));
  const names = Array.from({ length: 12 }, (_, index) => String(index));
  const known = names.map((name) => verify(name));
  const gone = verify("gone", "one", () => false);
  for (let checked = 0; checked < 12; checked++) {
    await eventually(() => checking.length > checked);
    expect(checking.length - checked).toBeLessThanOrEqual(4);
    checking[checked]?.();
  }
  await Promise.all([...known, gone]);
  expect(checking).toHaveLength(12);
  expect(ended.filter((name) => name !== "gone")).toEqual(names);
  fetched.resolve(true);
  await Promise.all(unknown);
  expect(checking).toHaveLength(12);
});
