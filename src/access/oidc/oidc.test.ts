import { afterEach, describe, expect, test } from "bun:test";
import { exportJWK, generateKeyPair, type JWK, type JWTPayload, SignJWT } from "jose";
import { eventually } from "../../../test/harness.ts";
import { Gate } from "../gate.ts";
import { FailurePace } from "./failure-pace.ts";
import { IssuerKeys, type IssuerKeysTiming } from "./issuer-keys.ts";
import { callerOf, type JwtSettings } from "./jwt-caller.ts";
import { JwtVerifier } from "./jwt-verifier.ts";
import { isTrustedUrl } from "./provider-metadata.ts";

const settings: JwtSettings = {
  issuer: "https://id.example.org",
  audience: "plants",
  clientId: "console",
};
const soon = () => Math.floor(Date.now() / 1000) + 300;

async function createKey(kid: string, alg = "ES256") {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg } as JWK, kid, alg };
}
type Key = Awaited<ReturnType<typeof createKey>>;

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

/** A provider whose responses a test can change. */
function startIssuer() {
  const state = { keys: [] as JWK[], up: true, asked: 0, respond: undefined as (() => Response) | undefined };
  const server: Bun.Server<undefined> = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch({ url }): Response {
      if (!state.up) return new Response("", { status: 500 });
      if (!url.endsWith("/jwks")) return Response.json({ issuer, jwks_uri: `${issuer}/jwks` });
      state.asked++;
      return state.respond?.() ?? Response.json({ keys: state.keys });
    },
  });
  const issuer: string = `http://127.0.0.1:${server.port}`;
  return { state, issuer, [Symbol.dispose]: () => void server.stop(true) };
}

const seldom: IssuerKeysTiming = {
  refreshEveryMs: 3_600_000,
  retryAfterMs: 3_600_000,
  unknownKeyEveryMs: 3_600_000,
  keepMs: 3_600_000,
  fetchTimeoutMs: 10_000,
};
const open: Disposable[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one[Symbol.dispose]();
});

function start(timing: Partial<IssuerKeysTiming>) {
  const provider = startIssuer();
  const log: string[] = [];
  const events = {
    providerUnavailable: (reason: string) => log.push(reason),
    providerAvailable: () => log.push("available"),
    onKeys: (keys: readonly JWK[] | undefined) => gate.updateKeys(keys),
  };
  const keys = new IssuerKeys(provider.issuer, events, { ...seldom, ...timing });
  const verifier = new JwtVerifier({ ...settings, issuer: provider.issuer }, () => keys.refresh());
  const gate = new Gate([], verifier);
  open.push(provider, keys);
  const admit = async (jwt: string) => {
    const caller = gate.admit(`Bearer ${jwt}`, "operator", Date.now());
    return caller === "unverified" ? gate.verify(`Bearer ${jwt}`, "operator") : caller;
  };
  return { ...provider, log, keys, gate, admit, signed: (key: Key) => sign(key, { iss: provider.issuer }) };
}

describe("keys of an issuer", () => {
  test("a withdrawn key ends the tokens that were admitted before, and streams that they opened", async () => {
    const { state, keys, gate, admit, signed } = start({ refreshEveryMs: 20 });
    const [one, two] = [await createKey("one"), await createKey("two")];
    state.keys = [one.jwk, two.jwk];
    await keys.start();
    const [ended, alive] = [await signed(one), await signed(two)];
    expect(await admit(ended)).toMatchObject({ name: "oidc:user:alice" });
    expect(await admit(alive)).toMatchObject({ name: "oidc:user:alice" });
    const [mayEnded, mayAlive] = [
      gate.watch(`Bearer ${ended}`, "operator"),
      gate.watch(`Bearer ${alive}`, "operator"),
    ];
    expect([mayEnded(), mayAlive()]).toEqual([true, true]);
    state.keys = [two.jwk];
    await eventually(async () => (await admit(ended)) === "bad-credentials");
    await eventually(() => !mayEnded());
    expect(mayAlive()).toBe(true);
    expect(await admit(alive)).toMatchObject({ name: "oidc:user:alice" });
  });

  test("that are fetched again while a token is being verified do not refuse it, unless its key is gone", async () => {
    const { state, keys, gate, signed } = start({});
    const [one, two] = [await createKey("one"), await createKey("two")];
    state.keys = [one.jwk];
    await keys.start();
    const early = gate.verify(`Bearer ${await signed(one)}`, "operator");
    gate.updateKeys([one.jwk, two.jwk]);
    expect(await early).toMatchObject({ name: "oidc:user:alice" });
    const late = gate.verify(`Bearer ${await signed(one)}`, "operator");
    gate.updateKeys([two.jwk]);
    expect(await late).toBe("bad-credentials");
  });

  test("a key that changes under the same id ends them too", async () => {
    const { state, keys, admit, signed } = start({ refreshEveryMs: 20 });
    const old = await createKey("one");
    state.keys = [old.jwk];
    await keys.start();
    const jwt = await signed(old);
    expect(await admit(jwt)).toMatchObject({ name: "oidc:user:alice" });
    state.keys = [(await createKey("one")).jwk];
    await eventually(async () => (await admit(jwt)) === "bad-credentials");
  });

  test("a new key is found when a token names it, but the issuer is asked no more often than the floor", async () => {
    const { state, keys, admit, signed } = start({});
    const [one, two] = [await createKey("one"), await createKey("two")];
    state.keys = [one.jwk];
    await keys.start();
    state.keys = [one.jwk, two.jwk];
    expect(await admit(await signed(two))).toMatchObject({ name: "oidc:user:alice" });
    const strangers = await Promise.all(Array.from({ length: 20 }, (_, index) => createKey(`no-${index}`)));
    for (const stranger of strangers) expect(await admit(await signed(stranger))).toBe("bad-credentials");
    expect(state.asked).toBe(2);
  });

  test("an unreachable issuer locks out nobody whose key is known, until the keys are too old", async () => {
    const { state, keys, admit, signed, log } = start({ refreshEveryMs: 20, retryAfterMs: 20, keepMs: 1500 });
    const key = await createKey("one");
    state.keys = [key.jwk];
    await keys.start();
    const before = await signed(key);
    expect(await admit(before)).toMatchObject({ name: "oidc:user:alice" });
    state.up = false;
    await eventually(() => log.length > 0);
    expect(await admit(before)).toMatchObject({ name: "oidc:user:alice" });
    expect(await admit(await signed(key))).toMatchObject({ name: "oidc:user:alice" });
    await eventually(async () => (await admit(before)) === "issuer-unavailable");
    state.up = true;
    await eventually(async () => typeof (await admit(before)) !== "string");
    expect(log).toEqual([expect.stringContaining("the response is 500"), "available"]);
  });

  const bad: [string, () => Response, string][] = [
    ["a redirect", () => Response.redirect("http://127.0.0.1:9/jwks"), "jwks: "],
    ["too many bytes", () => new Response("x".repeat(600_000)), "over the limit"],
    ["no JSON", () => new Response("<html>"), "not JSON"],
    ["no list", () => Response.json({ keys: {} }), "not a list"],
    [
      "a response that never ends",
      () => new Response(new ReadableStream({ pull: () => Bun.sleep(60_000) })),
      "timed out",
    ],
  ];
  for (const [what, respond, reason] of bad) {
    test(`are not read from ${what}`, async () => {
      const { state, keys, admit, signed, log } = start({ fetchTimeoutMs: 500 });
      state.respond = respond;
      await keys.start();
      expect(log).toEqual([expect.stringContaining(reason)]);
      expect(await admit(await signed(await createKey("one")))).toBe("issuer-unavailable");
    });
  }

  test("are not read from an issuer that calls itself by another name", async () => {
    const provider = startIssuer();
    const reasons: string[] = [];
    const events = {
      providerUnavailable: (reason: string) => reasons.push(reason),
      providerAvailable() {},
      onKeys() {},
    };
    using keys = new IssuerKeys(`${provider.issuer}/`, events);
    await keys.start();
    provider[Symbol.dispose]();
    expect(reasons).toEqual([expect.stringContaining("names an issuer other than")]);
  });

  test("come over https, or from loopback if the issuer is there", () => {
    const trusted = (url: string, issuer: string) => isTrustedUrl(url, issuer);
    expect(trusted("https://keys.example.org/jwks", "https://id.example.org")).toBe(true);
    expect(trusted("http://keys.example.org/jwks", "https://id.example.org")).toBe(false);
    expect(trusted("http://127.0.0.1/jwks", "https://id.example.org")).toBe(false);
    expect(trusted("http://127.0.0.1:8080/jwks", "http://localhost:8080")).toBe(true);
    expect(trusted("http://127.0.0.1.example.org/jwks", "http://localhost:8080")).toBe(false);
    expect(trusted("file:///etc/passwd", "http://localhost:8080")).toBe(false);
  });
});

describe("a verified token", () => {
  for (const alg of ["RS256", "PS512", "ES256", "ES384", "ES512", "EdDSA"]) {
    test(`may be signed with ${alg}`, async () => {
      const { state, keys, admit, signed } = start({});
      const key = await createKey("one", alg);
      state.keys = [key.jwk];
      await keys.start();
      expect(await admit(await signed(key))).toMatchObject({ name: "oidc:user:alice" });
    });
  }

  test("is remembered: the second request waits for nothing", async () => {
    const { state, keys, gate, admit, signed } = start({});
    const key = await createKey("one");
    state.keys = [key.jwk];
    await keys.start();
    const header = `Bearer ${await signed(key)}`;
    expect(gate.admit(header, "operator", Date.now())).toBe("unverified");
    await admit(header.slice("Bearer ".length));
    expect(gate.admit(header, "operator", Date.now())).toMatchObject({ name: "oidc:user:alice" });
    gate.update([]);
    expect(gate.admit(header, "operator", Date.now())).toMatchObject({ name: "oidc:user:alice" });
    expect(gate.admit(header, "operator", soon() * 1000)).toBe("bad-credentials");
  });

  const names: [JWTPayload, string | undefined][] = [
    [{ client_id: "greenhouse", sub: "x" }, "oidc:client:greenhouse"],
    [{ sub: "alice" }, "oidc:user:alice"],
    [{ client_id: "console", sub: "alice" }, "oidc:user:alice"],
    [{ client_id: "alice" }, "oidc:client:alice"],
    [{ client_id: "two words", sub: "x" }, "oidc:client:two words"],
    [{ client_id: "x".repeat(52) }, `oidc:client:${"x".repeat(52)}`],
    [{ client_id: null, sub: "alice" }, "oidc:user:alice"],
    [{ client_id: "" }, undefined],
    [{ client_id: 7 }, undefined],
    [{}, undefined],
  ];
  for (const [claims, name] of names) {
    test(`with ${JSON.stringify(claims)} is ${name ?? "nobody's"}`, () => {
      expect(callerOf(claims, settings)?.name).toBe(name as string);
    });
  }

  test("has a bounded, printable and distinct name, whatever its claims", () => {
    const claims = ["x".repeat(53), "x".repeat(54), "a\nb", "\u202eecila", " a"];
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
  for (const [claims, known] of scopes) {
    test(`with ${JSON.stringify(claims)} may ${known.join(" and ") || "do nothing"}`, () => {
      expect(callerOf({ sub: "x", ...claims }, settings)?.scopes).toEqual(known as never);
    });
  }

  test("has a time that a Date can hold", () => {
    expect(new Date(callerOf({ sub: "x", exp: 1e300 }, settings)?.expiresAtMs ?? 0).getTime()).toBe(8.64e15);
  });
});

describe("failed verifications", () => {
  test("get two turns, and pause after each", async () => {
    const pace = new FailurePace();
    let running = 0;
    let most = 0;
    const fail = async () => {
      most = Math.max(most, ++running);
      await Bun.sleep(5);
      running--;
      return undefined;
    };
    const startMs = performance.now();
    await Promise.all(Array.from({ length: 4 }, () => pace.run(fail)));
    expect(performance.now() - startMs).toBeGreaterThan(50);
    expect(most).toBe(2);
  });
});
