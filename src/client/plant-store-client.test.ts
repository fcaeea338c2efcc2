import { describe, expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { caught } from "../../test/support/caught.ts";
import { instantDelays } from "../../test/support/clock.ts";
import {
  type NewPlant,
  PlantStoreClient,
  RequestAborted,
  ServiceRefused,
  ServiceUnreachable,
} from "./plant-store-client.ts";

/** What a server would answer, or a failure of the connection. */
type Answer = (body: string, signal: AbortSignal) => Response | Promise<Response>;

const plant = { id: 1, name: "a" };
const limits = { baseUrl: "http://x/v1/", token: "any-token", timeoutMs: 30_000 };
const ok: Answer = () => new Response('{"name":"a"}');
const fails =
  (message: string, options?: ErrorOptions): Answer =>
  () => {
    throw new TypeError(message, options);
  };
const hangUp = fails("fetch failed", { cause: new Error("socket hang up") });
/** Never answers; only an abort ends it. */
const silent: Answer = (_, signal) =>
  new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
const status =
  (code: number, headers: Record<string, string> = {}, error = code * 100 + 1): Answer =>
  () =>
    new Response(JSON.stringify({ error, message: `message ${error}` }), {
      status: code,
      headers: { "X-Request-Id": "r-1", ...headers },
    });

/** A client whose requests get these answers, all further ones the last, and what it sent. */
function clientOf(answers: readonly Answer[], options: object = {}) {
  const sent: string[] = [];
  const fetch = async (url: string, { body, signal }: RequestInit) => {
    sent.push(`${url} ${body}`);
    return (answers[sent.length - 1] ?? answers.at(-1) ?? ok)(String(body), signal as AbortSignal);
  };
  return { sent, client: new PlantStoreClient({ ...limits, fetch, ...options }) };
}

/** How the creation of a plant fails with these answers. */
const failure = (answers: readonly Answer[], options: object = {}) =>
  caught(clientOf(answers, options).client.createPlant(plant));

/** For a test of retries: no delay takes time, and only the time limit of a request never ends. */
const skipDelays = () => instantDelays(limits.timeoutMs);

describe("ids", () => {
  test.each([
    [2n ** 63n - 1n, "9223372036854775807"],
    [-(2n ** 63n), "-9223372036854775808"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    [-0, "0"],
    ["9007199254740993", "9007199254740993"],
    ["-007", "-7"],
  ])("%p is written as %s", async (id, digits) => {
    const { client, sent } = clientOf([ok]);
    await client.createPlant({ id, name: "a", tag: "t" });
    expect(sent).toEqual([`http://x/v1/plants {"id":${digits},"name":"a","tag":"t"}`]);
  });

  test.each([2 ** 53, 1.5, Number.NaN, "1.0", "", "0x1", null])(
    "%p is refused without being sent",
    async (id) => {
      const { client, sent } = clientOf([ok]);
      expect(await caught(client.createPlant({ id: id as string, name: "a" }))).toBeInstanceOf(TypeError);
      expect(sent).toEqual([]);
    },
  );
});

describe("retries", () => {
  test.each([
    ["408", status(408)],
    ["429", status(429)],
    ["500", status(500)],
    ["503", status(503)],
    ["a closed connection", hangUp],
  ])("follow %s, with the same body", async (_, answer) => {
    using _delays = skipDelays();
    const { client, sent } = clientOf([answer, answer, ok]);
    expect(await client.createPlant(plant)).toEqual({ name: "a", replayed: false });
    expect(sent).toHaveLength(3);
    expect(new Set(sent).size).toBe(1);
  });

  test.each([400, 401, 403, 404, 405, 413, 415, 417, 431])("do not follow %i", async (code) => {
    const { client, sent } = clientOf([status(code)]);
    const error = await caught(client.createPlant(plant));
    expect(error).toBeInstanceOf(ServiceRefused);
    expect(error).toMatchObject({ error: code * 100 + 1, status: code, requestId: "r-1" });
    expect(sent).toHaveLength(1);
  });

  test("end with the last response after the maximum number of attempts", async () => {
    using delays = skipDelays();
    const refused = await failure([status(503, {}, 50302)], { attemptsMax: 3 });
    expect(refused).toMatchObject({ name: "ServiceRefused", error: 50302 });
    expect(delays.lengthsMs).toHaveLength(2);
  });

  test.each([
    ["what failed", hangUp, 2, "2 attempts: socket hang up."],
    // A question of a runtime gets no full stop after it.
    [
      "what a runtime asks",
      fails("Is there another service on this port?"),
      1,
      "1 attempt: Is there another service on this port?",
    ],
  ])("end with ServiceUnreachable and %s if there was no response", async (_, answer, attemptsMax, end) => {
    using _delays = skipDelays();
    const unreachable = await failure([answer], { attemptsMax });
    expect(unreachable).toBeInstanceOf(ServiceUnreachable);
    expect(unreachable).toMatchObject({ message: `http://x/v1/plants could not be reached in ${end}` });
  });

  test("are limited even if an option is undefined", async () => {
    using delays = skipDelays();
    const limited = await failure([status(503)], { attemptsMax: undefined });
    expect(limited).toMatchObject({ status: 503 });
    expect(delays.lengthsMs).toHaveLength(5);
  });

  describe.each(["timeoutMs", "attemptsMax", "backoffMs", "backoffMsMax", "patienceMs"])("%s", (name) => {
    test.each([Number.NaN, Number.POSITIVE_INFINITY, -1, "5"])("cannot be %p", (value) => {
      expect(() => clientOf([], { [name]: value })).toThrow(`${name} must be a number`);
    });
  });

  test("wait twice as long each time, up to the limit and with jitter of up to half", async () => {
    using delays = skipDelays();
    await failure([hangUp], { backoffMs: 100, backoffMsMax: 300 });
    expect(delays.lengthsMs).toHaveLength(5);
    for (const [index, most] of [100, 200, 300, 300, 300].entries()) {
      expect(delays.lengthsMs[index]).toBeGreaterThanOrEqual(most / 2);
      expect(delays.lengthsMs[index]).toBeLessThanOrEqual(most);
    }
  });

  test("wait as long as Retry-After asks for", async () => {
    using delays = skipDelays();
    const { client } = clientOf([status(503, { "Retry-After": "7" }), ok], { backoffMs: 0 });
    await client.createPlant(plant);
    expect(delays.lengthsMs).toEqual([7000]);
  });

  test("end if Retry-After asks for more than a minute", async () => {
    using delays = skipDelays();
    const refused = await failure([status(503, { "Retry-After": "3600" })]);
    expect(refused).toMatchObject({ status: 503 });
    expect(delays.lengthsMs).toEqual([]);
  });

  test("are more for a rate limit than for a failure", async () => {
    using _delays = skipDelays();
    const { client } = clientOf([...Array<Answer>(10).fill(status(429)), ok], { attemptsMax: 2 });
    expect(await client.createPlant(plant)).toMatchObject({ name: "a" });
  });

  test("for a rate limit end after the time that is set for them", async () => {
    using _delays = skipDelays();
    const { client, sent } = clientOf([status(429)], { patienceMs: 1000, backoffMs: 100 });
    expect(await caught(client.createPlant(plant))).toMatchObject({ status: 429 });
    // By a clock that cannot be set back: only its time has passed here.
    expect(sent.length).toBeLessThan(12);
  });

  test("without a backoff wait 0 ms, though 2 to the number of attempts is infinite", async () => {
    using delays = skipDelays();
    const { client } = clientOf([...Array<Answer>(1030).fill(status(429)), ok], { backoffMs: 0 });
    await client.createPlant(plant);
    expect(delays.lengthsMs).toEqual(Array(1030).fill(0));
  });

  test("after a rate limit are as many as without it", async () => {
    using _delays = skipDelays();
    const { client } = clientOf([status(429), status(429), status(503), ok], { attemptsMax: 2 });
    expect(await client.createPlant(plant)).toMatchObject({ name: "a" });
  });

  test("follow an attempt without a response in time", async () => {
    using _delays = skipDelays();
    const { client, sent } = clientOf([silent, ok], { timeoutMs: 50 });
    expect(await client.createPlant(plant)).toMatchObject({ name: "a" });
    expect(sent).toHaveLength(2);
  });

  test("end with the time limit that the last attempt exceeded", async () => {
    using _delays = skipDelays();
    const gone = await failure([silent], { timeoutMs: 50, attemptsMax: 1 });
    expect(gone).toMatchObject({ message: expect.stringContaining("no response within 0.05 s") });
  });
});

describe("a signal aborts", () => {
  /** A client that is aborted while its first request waits for this answer. */
  function abortedDuring(answer: Answer) {
    const controller = new AbortController();
    const abortWhileAnswering: Answer = (body, signal) => {
      setImmediate(() => controller.abort("enough"));
      return answer(body, signal);
    };
    // A delay before a retry would last longer than the test.
    const { client, sent } = clientOf([abortWhileAnswering], { backoffMs: 120_000, backoffMsMax: 120_000 });
    return { sent, create: () => caught(client.createPlant(plant, { signal: controller.signal })) };
  }

  test.each([
    ["a request", silent],
    ["a delay before a retry", status(503)],
  ])("%s", async (_, answer) => {
    const { create, sent } = abortedDuring(answer);
    const error = await create();
    expect(error).toBeInstanceOf(RequestAborted);
    expect(error).toMatchObject({ name: "AbortError", cause: "enough" });
    expect(sent).toHaveLength(1);
  });

  test("a request that has not started", async () => {
    const { client, sent } = clientOf([ok]);
    const signal = AbortSignal.abort("enough");
    expect(await caught(client.createPlant(plant, { signal }))).toBeInstanceOf(RequestAborted);
    expect(sent).toEqual([]);
  });
});

describe("a response that is not from a plant store", () => {
  const html =
    (code: number, headers = {}): Answer =>
    () =>
      new Response("<html>", { status: code, headers });

  test("is no plant though its status is 200", async () => {
    expect(await failure([html(200)])).toBeInstanceOf(ServiceUnreachable);
  });

  test.each([
    ["its status", html(404), { error: 40400, message: "The response was 404 without an Error body." }],
    [
      "the address that it redirects to",
      html(302, { Location: "https://x/" }),
      { status: 302, message: expect.stringContaining("a redirect to https://x/") },
    ],
  ])("is reported with %s", async (_, answer, reported) => {
    expect(await failure([answer])).toMatchObject(reported);
  });
});

// A POST would become a GET, and its answer would count as a plant.
test("a redirect is not followed", async () => {
  const requested: string[] = [];
  await using server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch({ method, url }) {
      requested.push(`${method} ${new URL(url).pathname}`);
      if (url.endsWith("/moved")) return Response.json({ name: "a" });
      return new Response(null, { status: 302, headers: { Location: "/moved" } });
    },
  });
  const client = new PlantStoreClient({ ...limits, baseUrl: server.url });
  expect(await caught(client.createPlant(plant))).toMatchObject({ status: 302 });
  expect(requested).toEqual(["POST /plants"]);
});

test.each([
  ["a token with a line break", { token: "a\r\nX: y" }, "The token must be"],
  ["no token", { token: undefined }, "The token must be"],
  ["an empty token", { token: "" }, "The token must be"],
  ["no base URL", { baseUrl: undefined }, "The base URL must be"],
  ["a base URL without a scheme", { baseUrl: "localhost:3000" }, "The base URL must be"],
  ["a base URL with credentials", { baseUrl: "https://me:hidden@x" }, "The base URL must be"],
  ["a base URL with a query", { baseUrl: "https://x/?a=b" }, "The base URL must be"],
])("%s is refused with what is right", (_, options, message) => {
  const create = () => new PlantStoreClient({ ...limits, ...options } as never);
  expect(create).toThrow(TypeError);
  expect(create).toThrow(message);
  expect(create).not.toThrow("hidden");
});

test("a response that never ends is not from a plant store, and nothing more of it is read", async () => {
  const cancelled = Promise.withResolvers<void>();
  const pull = (controller: ReadableStreamDefaultController) => controller.enqueue(new Uint8Array(65_536));
  const endless = () => new Response(new ReadableStream({ pull, cancel: () => cancelled.resolve() }));
  const message = expect.stringContaining("check the base URL");
  expect(await failure([endless])).toMatchObject({ name: "ServiceUnreachable", message });
  await cancelled.promise;
});

describe("many plants", () => {
  const numbered = (count: number) => Array.from({ length: count }, (_, id) => ({ id, name: "a" }));

  test("all have an outcome, the refused ones with their error and index", async () => {
    const { client } = clientOf([
      (body, signal) => (body.includes('"id":3,') ? status(400, {}, 40020) : ok)(body, signal),
    ]);
    const items: NewPlant[] = [...numbered(9), { id: 0.5, name: "a" }];
    const outcomes = await Array.fromAsync(client.createPlants(items, { concurrency: 4 }));
    expect(outcomes.map(({ item }) => item)).toEqual(items);
    const refused = outcomes.filter(({ kind }) => kind === "refused");
    expect(refused).toMatchObject([
      { index: 3, error: { error: 40020 } },
      { index: 9, error: expect.any(TypeError) },
    ]);
  });

  test("are read from the source only as fast as they are sent and their outcomes are read", async () => {
    let inFlight = 0;
    let most = 0;
    let pulled = 0;
    let received = 0;
    const { client } = clientOf([
      async (body, signal) => {
        inFlight++;
        most = Math.max(most, inFlight);
        await nextTurn();
        inFlight--;
        return ok(body, signal);
      },
    ]);
    async function* source() {
      for (const item of numbered(60)) {
        pulled++;
        yield item;
      }
    }
    for await (const _ of client.createPlants(source(), { concurrency: 5 })) {
      received++;
      for (let turn = 0; turn < 10; turn++) await nextTurn();
      expect(pulled - received).toBeLessThanOrEqual(5);
    }
    expect(received).toBe(60);
    expect(most).toBe(5);
  });

  test("are yielded while the source waits for them", async () => {
    let received = 0;
    async function* source() {
      for (const item of numbered(3)) {
        yield item;
        while (received <= item.id) await nextTurn();
      }
    }
    for await (const _ of clientOf([ok]).client.createPlants(source())) received++;
    expect(received).toBe(3);
  });

  test.each<[what: string, answer: Answer]>([
    ["no token is accepted", status(401)],
    ["no plant store responds", () => new Response("<html>", { status: 400 })],
    ["no request is understood", status(400, {}, 40030)],
  ])("stop, with the source, if %s", async (_, answer) => {
    const { client, sent } = clientOf([ok, ok, answer]);
    let closed = false;
    let received = 0;
    function* source() {
      try {
        yield* numbered(1000);
      } finally {
        closed = true;
      }
    }
    const run = async () => {
      for await (const _ of client.createPlants(source(), { concurrency: 2 })) received++;
    };
    expect(await caught(run())).toBeInstanceOf(ServiceRefused);
    expect(received).toBe(2);
    expect(closed).toBe(true);
    expect(sent.length).toBeLessThan(6);
  });

  test.each([
    ["while it is awaited", 4],
    ["while it is not awaited", 3],
  ])("before a failure of the source, %s, are yielded before it is thrown", async (_, concurrency) => {
    const failed = Promise.withResolvers<void>();
    const { client } = clientOf([
      async (body, signal) => {
        await failed.promise;
        // A turn in which an unhandled rejection would be noticed.
        await nextTurn();
        return ok(body, signal);
      },
    ]);
    async function* source() {
      yield* numbered(3);
      failed.resolve();
      throw new Error("the source broke");
    }
    let received = 0;
    const run = async () => {
      for await (const _ of client.createPlants(source(), { concurrency })) received++;
    };
    expect(await caught(run())).toMatchObject({ message: "the source broke" });
    expect(received).toBe(3);
  });

  test("stop when they are aborted", async () => {
    const controller = new AbortController();
    const { client } = clientOf([ok, silent]);
    const options = { concurrency: 2, signal: controller.signal };
    const run = async () => {
      for await (const _ of client.createPlants(numbered(9), options)) controller.abort();
    };
    expect(await caught(run())).toBeInstanceOf(RequestAborted);
  });

  test("do not start if they were aborted before", async () => {
    const { client, sent } = clientOf([ok]);
    const options = { concurrency: 2, signal: AbortSignal.abort() };
    const outcomes = Array.fromAsync(client.createPlants(numbered(9), options));
    expect(await caught(outcomes)).toBeInstanceOf(RequestAborted);
    expect(sent).toEqual([]);
  });

  test("stop when the caller leaves the loop", async () => {
    const { client, sent } = clientOf([ok, silent]);
    for await (const _ of client.createPlants(numbered(9), { concurrency: 2 })) break;
    expect(sent.length).toBeLessThan(9);
  });

  test("of a source that never yields stop when they are aborted, before or after they start", async () => {
    const waiting = { [Symbol.asyncIterator]: () => ({ next: () => new Promise<never>(() => {}) }) };
    const controller = new AbortController();
    setImmediate(() => controller.abort("enough"));
    for (const signal of [controller.signal, AbortSignal.abort("enough")]) {
      const outcomes = Array.fromAsync(clientOf([ok]).client.createPlants(waiting, { signal }));
      expect(await caught(outcomes)).toMatchObject({ name: "AbortError", cause: "enough" });
    }
  });
});

describe("following", () => {
  const page = (next: string, more: boolean) => () =>
    new Response(JSON.stringify({ plants: [], next, more, now: "2026-11-19T00:00:00.000Z" }));

  test("goes on from page to page, and waits only where there is no more", async () => {
    using delays = skipDelays();
    const urls: string[] = [];
    const answers: Answer[] = [page("a", true), status(503), page("b", false), page("c", false)];
    const fetch = async (url: string) => {
      urls.push(new URL(url).search);
      const answer = answers.shift() ?? page("d", false);
      return answer("", AbortSignal.any([]));
    };
    const client = new PlantStoreClient({ ...limits, fetch });
    const pages: string[] = [];
    for await (const { next } of client.followPlants({ filter: { tag: "t" }, everyMs: 7000 })) {
      pages.push(next);
      if (next === "c") break;
    }
    expect(pages).toEqual(["a", "b", "c"]);
    const query = "?tag=t&limit=1000&after=";
    expect(urls).toEqual(["0", "a", "a", "b"].map((after) => query + after));
    expect(delays.lengthsMs.filter((ms) => ms === 7000)).toHaveLength(1);
  });

  test("a response that is no page is not from the operator listener", async () => {
    const client = new PlantStoreClient({ ...limits, fetch: async () => new Response("{}") });
    const following = client.followPlants();
    expect(await caught(following.next())).toMatchObject({
      message: expect.stringContaining("operator listener"),
    });
  });
});
