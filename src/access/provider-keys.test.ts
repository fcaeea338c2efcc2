import { describe, expect, spyOn, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { eventually } from "../../test/support/eventually.ts";
import {
  alice,
  createKey,
  mockFetch,
  oidcSettings,
  sign,
  startGate,
} from "../../test/support/simulated-provider.ts";
import { minuteMs } from "../text/duration.ts";
import { isTrustedUrl, ProviderKeys } from "./provider-keys.ts";

const one = await createKey("one");
const two = await createKey("two");
const three = await createKey("three");

describe("keys of an issuer", () => {
  test("are fetched at the start, and then every minute", async () => {
    using provider = await startGate();
    using interval = spyOn(globalThis, "setInterval");
    using _ = provider.keys;
    provider.keys.start();
    await eventually(() => provider.state.asked === 2);
    expect(interval.mock.calls).toEqual([[expect.any(Function), minuteMs]]);
    for (const [update] of interval.mock.calls) (update as () => void)();
    await eventually(() => provider.state.asked === 3);
  });

  test.each([
    ["withdrawn", []],
    ["replaced by another of their id", [{ ...three.jwk, kid: "one" }]],
  ])("that are %s end the tokens of theirs, and no others", async (_, others) => {
    using provider = await startGate([one.jwk, two.jwk]);
    const ended = await sign(one);
    const alive = await sign(two);
    expect(await provider.admit(ended)).toMatchObject(alice);
    expect(await provider.admit(alive)).toMatchObject(alice);
    provider.state.keys = [two.jwk, ...others];
    await provider.pass(minuteMs);
    // A stream goes on while its token is verified again.
    expect(provider.known(alive)).toBe("unverified");
    expect(await provider.admit(alive)).toMatchObject(alice);
    expect(await provider.admit(ended)).toBe("bad-credentials");
  });

  test("that are fetched unchanged forget no token", async () => {
    using provider = await startGate([one.jwk]);
    const jwt = await sign(one);
    await provider.admit(jwt);
    await provider.pass(minuteMs);
    expect(provider.state.asked).toBe(2);
    expect(provider.known(jwt)).toMatchObject(alice);
  });

  test.each([
    ["admit it if its key stays", [one.jwk, two.jwk], expect.objectContaining(alice)],
    ["refuse it if its key is gone", [two.jwk], "bad-credentials"],
  ])("that change while a token is being verified %s", async (_, keys, expected) => {
    using provider = await startGate([one.jwk]);
    const verifying = provider.admit(await sign(one));
    provider.state.keys = keys;
    await provider.pass(minuteMs);
    expect(await verifying).toEqual(expected);
  });

  test("are fetched when a token names a new one, once in 10 seconds", async () => {
    using provider = await startGate([one.jwk]);
    provider.state.keys = [one.jwk, two.jwk];
    expect(await provider.admit(await sign(two))).toMatchObject(alice);
    expect(provider.state.asked).toBe(2);
    for (const kid of ["no-1", "no-2", "no-3"])
      expect(await provider.admit(await sign({ ...one, kid }))).toBe("bad-credentials");
    expect(provider.state.asked).toBe(2);
    await provider.pass(10_000);
    const askedBefore = provider.state.asked;
    provider.state.keys = [one.jwk, three.jwk];
    expect(await provider.admit(await sign(three))).toMatchObject(alice);
    expect(provider.state.asked).toBe(askedBefore + 1);
  });

  describe("that nobody knows", () => {
    const unknown = () => sign({ ...one, kid: "unknown" });

    test("refuse a token if the provider has just published others", async () => {
      using provider = await startGate([one.jwk]);
      await provider.pass(minuteMs);
      expect(await provider.admit(await unknown())).toBe("bad-credentials");
    });

    test("cannot be decided until the provider responds again", async () => {
      using provider = await startGate([one.jwk]);
      await provider.pass(minuteMs);
      provider.state.up = false;
      // By keys that were fetched before.
      await provider.pass(10_000);
      expect(await provider.admit(await unknown())).toBe("issuer-unavailable");
      // This one makes it fetch, and that fails; the next does not.
      await provider.pass(minuteMs);
      expect(await provider.admit(await unknown())).toBe("issuer-unavailable");
      expect(await provider.admit(await unknown())).toBe("issuer-unavailable");
      provider.state.up = true;
      await provider.pass(1000);
      expect(await provider.admit(await unknown())).toBe("bad-credentials");
    });

    test("continue after a fetch in turns, at most 256 tokens in each", async () => {
      using provider = await startGate([one.jwk]);
      const responding = Promise.withResolvers<Response>();
      provider.state.respond = () => responding.promise;
      const passing = provider.pass(minuteMs);
      let decided = 0;
      for (let token = 0; token < 513; token++) void provider.keys.fetchUnknown().then(() => decided++);
      responding.resolve(Response.json({ keys: [one.jwk] }));
      await passing;
      let decidedBefore = 0;
      let mostInOneTurn = 0;
      while (decided < 513) {
        await nextTurn();
        mostInOneTurn = Math.max(mostInOneTurn, decided - decidedBefore);
        decidedBefore = decided;
      }
      expect(mostInOneTurn).toBe(256);
    });

    test("stay undecided if the fetch that they wait for fails", async () => {
      using provider = await startGate([one.jwk]);
      const responding = Promise.withResolvers<Response>();
      provider.state.respond = () => responding.promise;
      const passing = provider.pass(minuteMs);
      const deciding = provider.admit(await unknown());
      responding.resolve(new Response("", { status: 500 }));
      expect(await deciding).toBe("issuer-unavailable");
      await passing;
    });
  });

  test("of an issuer that is unreachable are used for an hour", async () => {
    using provider = await startGate([one.jwk]);
    const before = await sign(one);
    expect(await provider.admit(before)).toMatchObject(alice);
    provider.state.up = false;
    for (let minute = 0; minute < 59; minute++) await provider.pass(minuteMs);
    expect(await provider.admit(before)).toMatchObject(alice);
    expect(await provider.admit(await sign(one))).toMatchObject(alice);
    await provider.pass(minuteMs);
    expect(await provider.admit(before)).toBe("issuer-unavailable");
    provider.state.up = true;
    await provider.pass(10_000);
    expect(await provider.admit(before)).toMatchObject(alice);
  });

  test("of an issuer that is unreachable, and then responds again, are reported once each", async () => {
    using provider = await startGate([one.jwk]);
    provider.state.up = false;
    await provider.pass(minuteMs);
    await provider.pass(minuteMs);
    const outage = expect.stringContaining("the response is 500");
    expect(provider.log).toEqual([outage]);
    provider.state.up = true;
    await provider.pass(minuteMs);
    await provider.pass(minuteMs);
    expect(provider.log).toEqual([outage, "available"]);
  });

  const otherwise: [string, () => Response, object, string][] = [
    ["too many bytes", () => new Response("x".repeat(600_000)), {}, "over the limit"],
    ["no JSON", () => new Response("<html>"), {}, "not JSON"],
    ["no list", () => Response.json({ keys: {} }), {}, "not a list"],
    ["a list of something else", () => Response.json({ keys: ["a key"] }), {}, "malformed"],
    ["null", () => Response.json(null), {}, "not a list"],
    ["another issuer", Response.error, { issuer: `${oidcSettings.issuer}/` }, "names an issuer other than"],
    ["a URL without https", Response.error, { jwks_uri: "http://id.example.org/" }, "is not an https URL"],
  ];
  test.each(otherwise)("are not read from %s", async (_, respond, metadata, reason) => {
    using provider = await startGate([one.jwk]);
    provider.state.respond = respond;
    provider.state.metadata = { ...provider.state.metadata, ...metadata };
    await provider.pass(minuteMs);
    expect(provider.log).toEqual([expect.stringContaining(reason)]);
    expect(await provider.admit(await sign(one))).toMatchObject(alice);
  });

  describe("of a real server", () => {
    const serve = () =>
      Bun.serve({
        hostname: "127.0.0.1",
        port: 0,
        // It must not be the one that ends a connection.
        idleTimeout: 0,
        fetch: ({ url }) => {
          if (url.endsWith("/moved")) return Response.redirect("/never");
          if (url.endsWith("/silent")) return new Promise<Response>(() => {});
          const start = (body: ReadableStreamDefaultController) => body.enqueue("{");
          return new Response(new ReadableStream({ start, pull: () => new Promise(() => {}) }));
        },
      });

    test.each([
      ["a redirect", "/moved", /redirect/i, 1],
      ["a response that never ends", "/never", /timed out/, 100],
    ])("are not read from %s", async (_, path, expected, timesFaster) => {
      using server = serve();
      const send = fetch;
      const timeout = AbortSignal.timeout.bind(AbortSignal);
      using _timeout = spyOn(AbortSignal, "timeout").mockImplementation((ms) => timeout(ms / timesFaster));
      using _fetch = mockFetch((_url, init) => send(new URL(path, server.url), init));
      const { promise: reason, resolve: providerUnavailable } = Promise.withResolvers<string>();
      await new ProviderKeys(oidcSettings, { providerUnavailable, providerAvailable() {} }).update();
      expect(await reason).toMatch(expected);
    });

    test.each([
      ["a response that never starts", "/silent", async () => {}],
      ["a response that never ends", "/never", (response: Promise<Response>) => response],
    ])("are not waited for after the stop: %s", async (_, path, untilWaiting) => {
      using server = serve();
      const send = fetch;
      const log: string[] = [];
      const events = {
        providerUnavailable: (reason: string) => log.push(reason),
        providerAvailable: () => log.push("available"),
      };
      const waiting = Promise.withResolvers<unknown>();
      using _timeout = spyOn(AbortSignal, "timeout").mockReturnValue(new AbortController().signal);
      using _fetch = mockFetch((_url, init) => {
        const response = send(new URL(path, server.url), init);
        waiting.resolve(untilWaiting(response));
        return response;
      });
      const keys = new ProviderKeys(oidcSettings, events);
      const fetching = keys.update();
      await waiting.promise;
      keys[Symbol.dispose]();
      await fetching;
      expect(log).toEqual([]);
    });
  });

  test("come only from an https URL, or from loopback if the issuer is there", () => {
    const trusted = [
      ["https://keys.example.org/jwks", "https://id.example.org"],
      ["http://127.0.0.1:8080/jwks", "http://localhost:8080"],
    ];
    const others = [
      ["http://keys.example.org/jwks", "https://id.example.org"],
      ["http://127.0.0.1/jwks", "https://id.example.org"],
      ["http://127.0.0.1.example.org/jwks", "http://localhost:8080"],
      ["file:///etc/passwd", "http://localhost:8080"],
      ["/jwks", "http://localhost:8080"],
    ];
    const isTrusted = ([url = "", issuer = ""]: string[]) => isTrustedUrl(url, issuer);
    expect([...trusted, ...others].filter(isTrusted)).toEqual(trusted);
  });
});
