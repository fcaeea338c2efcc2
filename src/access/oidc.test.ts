import { afterAll, afterEach, beforeAll, describe, expect, mock, spyOn, test } from "bun:test";
import { CompactSign, exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import { eventually } from "../../test/support/harness.ts";
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
const one = await createKey("one");
const two = await createKey("two");
const three = await createKey("three");

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
  };
  let nowMs = 0;
  const keys = new ProviderKeys(settings.issuer, events, () => nowMs);
  const gate = new Gate([], new JwtVerifier(settings, keys));
  keys.onChange(() => gate.forgetJwts());
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

  describe("that are withdrawn", () => {
    /** A token of a key that is then withdrawn, one of a key that stays, and a stream that each has opened. */
    async function startWithStreams() {
      const provider = await start([one.jwk, two.jwk]);
      const ended = await sign(one);
      const alive = await sign(two);
      expect(await provider.admit(ended)).toMatchObject(alice);
      expect(await provider.admit(alive)).toMatchObject(alice);
      const mayStream = (jwt: string) => provider.gate.watch(`Bearer ${jwt}`, "operator");
      return { ...provider, ended, alive, mayEnded: mayStream(ended), mayAlive: mayStream(alive) };
    }

    test("end the tokens that were admitted before", async () => {
      const { state, ended, admit, pass } = await startWithStreams();
      state.keys = [two.jwk];
      await pass(minuteMs);
      expect(await admit(ended)).toBe("bad-credentials");
    });

    test("end the streams that such tokens opened", async () => {
      const { state, mayEnded, pass } = await startWithStreams();
      expect(mayEnded()).toBe(true);
      state.keys = [two.jwk];
      await pass(minuteMs);
      await eventually(() => mayEnded() === false);
    });

    test("do not end the streams of other keys, whose tokens are verified again", async () => {
      const { state, alive, mayAlive, known, pass } = await startWithStreams();
      state.keys = [two.jwk];
      await pass(minuteMs);
      expect(known(alive)).toBe("unverified");
      expect(mayAlive()).toBe(true);
      await eventually(() => typeof known(alive) !== "string");
      expect(mayAlive()).toBe(true);
    });

    test("end their tokens even if another key has their id", async () => {
      const { state, ended, admit, pass } = await startWithStreams();
      state.keys = [{ ...three.jwk, kid: "one" }];
      await pass(minuteMs);
      expect(await admit(ended)).toBe("bad-credentials");
    });
  });

  test("that stay the same forget no token", async () => {
    const { state, known, admit, pass } = await start([one.jwk, two.jwk]);
    const jwt = await sign(one);
    await admit(jwt);
    await pass(minuteMs);
    expect(state.asked).toBe(2);
    expect(known(jwt)).toMatchObject(alice);
  });

  test("that change forget every token, until it is verified again", async () => {
    const { state, known, admit, pass } = await start([one.jwk]);
    const jwt = await sign(one);
    await admit(jwt);
    state.keys = [one.jwk, two.jwk];
    await pass(minuteMs);
    expect(known(jwt)).toBe("unverified");
    expect(await admit(jwt)).toMatchObject(alice);
  });

  test.each([
    ["admit it if its key stays", [one.jwk, two.jwk], expect.objectContaining(alice)],
    ["refuse it if its key is gone", [two.jwk], "bad-credentials"],
  ])("that change while a token is being verified %s", async (_, keys, expected) => {
    const { state, gate, pass } = await start([one.jwk]);
    const verifying = gate.verify(`Bearer ${await sign(one)}`, "operator", always);
    state.keys = keys;
    await pass(minuteMs);
    expect(await verifying).toEqual(expected);
  });

  test("are fetched when a token names a new one", async () => {
    const { state, admit } = await start([one.jwk]);
    state.keys = [one.jwk, two.jwk];
    expect(await admit(await sign(two))).toMatchObject(alice);
    expect(state.asked).toBe(2);
  });

  test("are fetched for tokens with unknown ones only once in 10 seconds", async () => {
    const { state, admit, pass } = await start([one.jwk]);
    for (const kid of ["no-1", "no-2", "no-3"])
      expect(await admit(await sign({ ...one, kid }))).toBe("bad-credentials");
    expect(state.asked).toBe(2);
    await pass(10_000);
    expect(state.asked).toBe(3);
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

  test("of an issuer that is unreachable are used for an hour", async () => {
    const { state, admit, pass } = await start([one.jwk]);
    const before = await sign(one);
    expect(await admit(before)).toMatchObject(alice);
    state.up = false;
    for (let minute = 0; minute < 59; minute++) await pass(minuteMs);
    expect(await admit(before)).toMatchObject(alice);
    expect(await admit(await sign(one))).toMatchObject(alice);
    await pass(minuteMs);
    expect(await admit(before)).toBe("issuer-unavailable");
    state.up = true;
    await pass(10_000);
    expect(await admit(before)).toMatchObject(alice);
  });

  test("of an issuer that is unreachable are reported once, and once when it responds again", async () => {
    const { state, pass, log } = await start([one.jwk]);
    state.up = false;
    await pass(minuteMs);
    await pass(minuteMs);
    state.up = true;
    await pass(minuteMs);
    await pass(minuteMs);
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

  describe("of a real server", () => {
    let server: ReturnType<typeof Bun.serve>;
    beforeAll(() => {
      server = Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        fetch: ({ url }) =>
          url.endsWith("/moved")
            ? Response.redirect("/never")
            : new Response(new ReadableStream({ pull: () => new Promise(() => {}) })),
      });
    });
    afterAll(() => server.stop(true));

    /** Why the keys at this path of the server cannot be read. */
    async function reasonOf(path: string): Promise<string> {
      const send = fetch;
      const { promise, resolve: providerUnavailable } = Promise.withResolvers<string>();
      const events = { providerUnavailable, providerAvailable() {} };
      provide((_url, init) => send(new URL(path, server.url), init));
      await new ProviderKeys(settings.issuer, events).update();
      return promise;
    }

    test("are not read from a redirect", async () => {
      expect(await reasonOf("/moved")).toMatch(/redirect/i);
    });

    test("are not read from a response that never ends", async () => {
      const timeout = AbortSignal.timeout.bind(AbortSignal);
      using _ = spyOn(AbortSignal, "timeout").mockImplementation((ms) => timeout(ms / 100));
      expect(await reasonOf("/never")).toMatch(/timed out/);
    });
  });

  test.each([
    ["https://keys.example.org/jwks", "https://id.example.org"],
    ["http://127.0.0.1:8080/jwks", "http://localhost:8080"],
  ])("may come from %s if the issuer is %s", (url, issuer) => {
    expect(isTrustedUrl(url, issuer)).toBe(true);
  });

  test.each([
    ["http://keys.example.org/jwks", "https://id.example.org"],
    ["http://127.0.0.1/jwks", "https://id.example.org"],
    ["http://127.0.0.1.example.org/jwks", "http://localhost:8080"],
    ["file:///etc/passwd", "http://localhost:8080"],
    ["/jwks", "http://localhost:8080"],
  ])("may not come from %s if the issuer is %s", (url, issuer) => {
    expect(isTrustedUrl(url, issuer)).toBe(false);
  });
});

describe("a verified token", () => {
  test.each(["PS512", "ES256", "ES384", "ES512", "EdDSA"])("may be signed with %s", async (alg) => {
    const key = await createKey("key", alg);
    const { admit } = await start([key.jwk]);
    expect(await admit(await sign(key))).toMatchObject(alice);
  });

  test("is remembered until it expires", async () => {
    const { known, admit } = await start([one.jwk]);
    const jwt = await sign(one);
    expect(known(jwt)).toBe("unverified");
    await admit(jwt);
    expect(known(jwt)).toMatchObject(alice);
    expect(known(jwt, soon() * 1000)).toBe("bad-credentials");
  });

  test("is remembered with 9,999 others, and verified again after one more", async () => {
    const { keys, gate, known, admit } = await start([one.jwk]);
    const jwt = await sign(one);
    const caller = (await admit(jwt)) as JwtCaller;
    const accepted = keys.current?.accepted as Map<string, JwtCaller>;
    for (let other = 1; other < 10_000; other++) accepted.set(String(other), caller);
    gate.update([]);
    expect(known(jwt)).toMatchObject(alice);
    await admit(await sign(one));
    gate.update([]);
    expect(known(jwt)).toBe("unverified");
    expect(accepted.size).toBe(10_000);
  });

  // Not by JSON.stringify, which has no word for infinity.
  const signTimes = (times: string) => {
    const claims = `{"iss":"${settings.issuer}","aud":"plants","sub":"alice","scope":"operator",${times}}`;
    return new CompactSign(new TextEncoder().encode(claims))
      .setProtectedHeader({ alg: one.alg, kid: one.kid, typ: "JWT" })
      .sign(one.privateKey);
  };
  test.each(['"exp":1e999', '"exp":1e12,"nbf":-1e999', '"exp":1e12,"iat":1e999'])(
    "is refused with a time that is not finite: %s",
    async (times) => {
      const { admit } = await start([one.jwk]);
      expect(await admit(await signTimes(times))).toBe("bad-credentials");
    },
  );
  test("may expire in the far future", async () => {
    const { admit } = await start([one.jwk]);
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
    expect(callerOf(claims, settings)?.name).toBe(name);
  });

  test.each([[{ client_id: "" }], [{ client_id: 7 }], [{}]])("with the claims %j is nobody's", (claims) => {
    expect(callerOf(claims, settings)).toBeUndefined();
  });

  test("expires at a time that a Date can hold", () => {
    expect(callerOf({ sub: "alice", exp: 1e300 }, settings)?.expiresAtMs).toBe(8.64e15);
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
    expect(callerOf({ sub }, settings)?.name).toMatch(/^oidc:user:[0-9a-f]{32}$/);
  });

  test("has a name that differs from that of every other user", () => {
    const all = awkward.map(([, sub]) => callerOf({ sub }, settings)?.name);
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
    expect<readonly string[] | undefined>(callerOf({ sub: "x", ...claims }, settings)?.scopes).toEqual(
      expected,
    );
  });
});

describe("signatures", () => {
  /** A verifier whose signatures are checked, and whose keys are fetched, when a test says so. */
  function startVerifier() {
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
