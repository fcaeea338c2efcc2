import { afterEach, describe, expect, setSystemTime, test } from "bun:test";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import {
  type NewPlant,
  PlantStoreClient,
  RequestAborted,
  ServiceRefused,
  ServiceUnreachable,
} from "./plant-store-client.ts";

type Handler = (response: ServerResponse, body: string) => void;

const fast = { backoffMs: 1, backoffMsMax: 4, token: "any-token" };
const ok: Handler = (response) => response.end('{"name":"a"}');
const status =
  (code: number, headers: Record<string, string> = {}, error = code * 100 + 1): Handler =>
  (response) =>
    response
      .writeHead(code, { "X-Request-Id": "r-1", ...headers })
      .end(JSON.stringify({ error, message: `message ${error}` }));
const hangUp: Handler = (response) => response.socket?.destroy();

/** A server that handles each request with the next handler, and all further ones with the last. */
async function startServer(...handlers: Handler[]) {
  const bodies: string[] = [];
  const arrivedMs: number[] = [];
  const server = createServer(async (request, response) => {
    arrivedMs.push(performance.now());
    let body = "";
    for await (const piece of request) body += piece;
    bodies.push(`${request.url} ${body}`);
    (handlers[bodies.length - 1] ?? handlers.at(-1) ?? ok)(response, body);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    baseUrl,
    bodies,
    arrivedMs,
    client: (more: object = {}) => new PlantStoreClient({ baseUrl, ...fast, ...more }),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

const caught = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );
const plant = { id: 1, name: "a" };

afterEach(() => {
  setSystemTime();
});

describe("ids", () => {
  const exact: [NewPlant["id"], string][] = [
    [2n ** 63n - 1n, "9223372036854775807"],
    [-(2n ** 63n), "-9223372036854775808"],
    [Number.MAX_SAFE_INTEGER, "9007199254740991"],
    [-0, "0"],
    ["9007199254740993", "9007199254740993"],
    ["-007", "-7"],
  ];
  for (const [id, digits] of exact) {
    test(`${typeof id} ${id} is written as ${digits}`, async () => {
      await using server = await startServer(ok);
      await server.client().createPlant({ id, name: "a", tag: "t" });
      expect(server.bodies).toEqual([`/plants {"id":${digits},"name":"a","tag":"t"}`]);
    });
  }
  test("a plant without a name is still sent as JSON", async () => {
    await using server = await startServer(ok);
    await server.client().createPlant({ id: 1 } as NewPlant);
    expect(server.bodies).toEqual(['/plants {"id":1}']);
  });
  for (const id of [2 ** 53, 1.5, Number.NaN, "1.0", "", "0x1", null]) {
    test(`${typeof id} ${id} is refused without being sent`, async () => {
      await using server = await startServer(ok);
      expect(await caught(server.client().createPlant({ id: id as string, name: "a" }))).toBeInstanceOf(
        TypeError,
      );
      expect(server.bodies).toEqual([]);
    });
  }
});

describe("retries", () => {
  for (const [what, handler] of [
    ["408", status(408)],
    ["429", status(429)],
    ["500", status(500)],
    ["503", status(503)],
    ["a closed connection", hangUp],
  ] as const) {
    test(`follow ${what}`, async () => {
      await using server = await startServer(handler, handler, ok);
      expect(await server.client().createPlant(plant)).toEqual({ name: "a", replayed: false });
      expect(new Set(server.bodies).size).toBe(1);
      expect(server.bodies).toHaveLength(3);
    });
  }

  for (const code of [400, 401, 403, 404, 405, 413, 415, 431]) {
    test(`do not follow ${code}`, async () => {
      await using server = await startServer(status(code));
      const error = await caught(server.client().createPlant(plant));
      expect(error).toBeInstanceOf(ServiceRefused);
      expect(error).toMatchObject({
        ...{
          error: code * 100 + 1,
          status: code,
          message: `message ${code}01`,
          requestId: "r-1",
          attempts: 1,
        },
      });
      expect(server.bodies).toHaveLength(1);
    });
  }

  test("end after the maximum number of attempts, with the last response", async () => {
    await using server = await startServer(status(503, {}, 50302));
    const error = await caught(server.client({ attemptsMax: 3 }).createPlant(plant));
    expect(error).toMatchObject({ name: "ServiceRefused", error: 50302, attempts: 3 });
    expect(server.bodies).toHaveLength(3);
  });

  test("are limited even if an option is undefined, and an invalid limit is refused", async () => {
    await using server = await startServer(status(503));
    const error = await caught(server.client({ attemptsMax: undefined }).createPlant(plant));
    expect(error).toMatchObject({ status: 503, attempts: 6 });
    for (const name of ["timeoutMs", "attemptsMax", "backoffMs", "backoffMsMax", "patienceMs"]) {
      for (const value of [Number.NaN, Number.POSITIVE_INFINITY, -1, "5"])
        expect(() => server.client({ [name]: value })).toThrow(`${name} must be a number`);
    }
  });

  test("end with ServiceUnreachable if there was no response", async () => {
    const client = new PlantStoreClient({ baseUrl: "http://127.0.0.1:1", attemptsMax: 2, ...fast });
    const error = await caught(client.createPlant(plant));
    expect(error).toBeInstanceOf(ServiceUnreachable);
    expect((error as Error).message).toContain(
      "http://127.0.0.1:1/plants could not be reached in 2 attempts",
    );
  });

  test("wait as long as Retry-After asks for, in seconds or as a date", async () => {
    await using server = await startServer(
      status(503, { "Retry-After": "1" }),
      status(503, { "Retry-After": new Date(Date.now() + 3000).toUTCString() }),
      ok,
    );
    await server.client().createPlant(plant);
    const [first = 0, second = 0, third = 0] = server.arrivedMs;
    expect(second - first).toBeGreaterThan(990);
    // A date has whole seconds.
    expect(third - first).toBeGreaterThan(1900);
  });

  test("do not wait for more than a minute", async () => {
    await using server = await startServer(status(503, { "Retry-After": "3600" }));
    expect(await caught(server.client().createPlant(plant))).toMatchObject({ status: 503, attempts: 1 });
  });

  test("last longer for a rate limit than for a failure, but not forever", async () => {
    await using server = await startServer(...Array<Handler>(10).fill(status(429)), ok);
    expect(await server.client({ attemptsMax: 2 }).createPlant(plant)).toMatchObject({ name: "a" });
    await using limited = await startServer(status(429));
    expect(await caught(limited.client({ patienceMs: 50 }).createPlant(plant))).toMatchObject({
      status: 429,
    });
  });

  test("are not prolonged for a rate-limited plant by a clock that is set back", async () => {
    await using server = await startServer((response, body) => {
      setSystemTime(new Date(Date.now() - 3_600_000));
      status(429)(response, body);
    });
    expect(await caught(server.client({ patienceMs: 20 }).createPlant(plant))).toMatchObject({ status: 429 });
  });

  test("follow a timeout", async () => {
    await using server = await startServer(() => {}, ok);
    expect(await server.client({ timeoutMs: 50 }).createPlant(plant)).toMatchObject({ name: "a" });
  });
});

describe("abort signals", () => {
  test("abort a request, a delay before a retry, and a request that has not started", async () => {
    await using hanging = await startServer(() => {});
    await using waiting = await startServer(status(503, { "Retry-After": "30" }));
    for (const server of [hanging, waiting]) {
      const controller = new AbortController();
      const result = caught(server.client().createPlant(plant, { signal: controller.signal }));
      await Bun.sleep(50);
      controller.abort("enough");
      expect(await result).toBeInstanceOf(RequestAborted);
      expect(await result).toMatchObject({ name: "AbortError", cause: "enough" });
      expect(await caught(server.client().createPlant(plant, { signal: controller.signal }))).toBeInstanceOf(
        RequestAborted,
      );
      expect(server.bodies).toHaveLength(1);
    }
  });
});

describe("responses that are not from a plant store", () => {
  test("are reported as such", async () => {
    await using page = await startServer((response) => response.end("<html>"));
    expect(await caught(page.client().createPlant(plant))).toBeInstanceOf(ServiceUnreachable);
    await using proxy = await startServer((response) => response.writeHead(404).end("<html>"));
    expect(await caught(proxy.client().createPlant(plant))).toMatchObject({
      error: 40400,
      requestId: undefined,
    });
    await using moved = await startServer((response) =>
      response.writeHead(301, { Location: "https://x/" }).end(),
    );
    expect(await caught(moved.client().createPlant(plant))).toMatchObject({
      message: expect.stringContaining("a redirect to https://x/"),
    });
  });

  test("an invalid token or base URL is refused before any request", () => {
    expect(() => new PlantStoreClient({ baseUrl: "http://x", token: "a\r\nX: y" })).toThrow(TypeError);
    expect(() => new PlantStoreClient({ baseUrl: "ftp://x", token: "a" })).toThrow(TypeError);
  });

  const wrong: [options: { baseUrl?: unknown; token?: unknown }, said: string][] = [
    [{ token: undefined }, "The token is undefined, not a string"],
    [{ token: null }, "The token is null, not a string"],
    [{ token: "" }, "The token is empty"],
    [{ baseUrl: undefined }, "The base URL is undefined"],
    [{ baseUrl: "" }, 'must begin with http:// or https://, such as https://example.org/garden/v1; it is ""'],
    [{ baseUrl: "localhost:3000" }, 'it is "localhost:3000"'],
    [{ baseUrl: "/plants" }, 'it is "/plants"'],
    [{ baseUrl: "http://" }, 'it is "http://"'],
    [{ baseUrl: "https://me:hidden@x" }, "must not contain a user name or a password"],
    [{ baseUrl: "ftp://me:hidden@x" }, "must begin with http://"],
    [{ baseUrl: "https://x/?a=b" }, "must not have a query or a fragment"],
  ];
  for (const [options, said] of wrong) {
    test(`${JSON.stringify(options)} is refused with what is wrong`, () => {
      const create = () => new PlantStoreClient({ baseUrl: "http://x", token: "a", ...options } as never);
      expect(create).toThrow(TypeError);
      expect(create).toThrow(said);
      expect(create).not.toThrow("hidden");
    });
  }
});

describe("many plants", () => {
  const numbered = (count: number) => Array.from({ length: count }, (_, id) => ({ id, name: "a" }));

  test("all have an outcome, the refused ones with their error and index", async () => {
    await using server = await startServer((response, body) =>
      body.includes('"id":3,') ? status(400, {}, 40020)(response, body) : ok(response, body),
    );
    const items: NewPlant[] = [...numbered(9), { id: 0.5, name: "a" }];
    const outcomes = [];
    for await (const outcome of server.client().createPlants(items, { concurrency: 4 }))
      outcomes.push(outcome);
    outcomes.sort((a, b) => a.index - b.index);
    expect(outcomes.map(({ item }) => item)).toEqual(items);
    expect(outcomes.map(({ kind }) => kind === "refused")).toEqual(
      items.map((_, index) => index === 3 || index === 9),
    );
    expect(outcomes[3]).toMatchObject({ error: { error: 40020 } });
    expect(outcomes[9]).toMatchObject({ error: expect.any(TypeError) });
  });

  test("are read from the source only as fast as they are sent and their outcomes are read", async () => {
    let inFlight = 0;
    let most = 0;
    await using server = await startServer((response) => {
      most = Math.max(most, ++inFlight);
      setTimeout(() => {
        inFlight--;
        response.end('{"name":"a"}');
      }, 2);
    });
    let pulled = 0;
    async function* source() {
      for (const item of numbered(60)) {
        pulled++;
        yield item;
      }
    }
    let received = 0;
    for await (const _ of server.client().createPlants(source(), { concurrency: 5 })) {
      received++;
      if (received < 4) await Bun.sleep(50);
      expect(pulled - received).toBeLessThanOrEqual(5);
    }
    expect([received, most]).toEqual([60, 5]);
  });

  test("stop if every plant would be refused, and read no more of the source", async () => {
    await using server = await startServer(ok, ok, status(401));
    let closed = false;
    function* source() {
      try {
        yield* numbered(1000);
      } finally {
        closed = true;
      }
    }
    let received = 0;
    const run = async () => {
      for await (const _ of server.client().createPlants(source(), { concurrency: 2 })) received++;
    };
    expect(await caught(run())).toMatchObject({ status: 401 });
    expect([received, closed]).toEqual([2, true]);
    expect(server.bodies.length).toBeLessThan(6);
  });

  test("stop at a 400 that does not concern a plant", async () => {
    const html: Handler = (response) => response.writeHead(400).end("<html>");
    for (const handler of [html, status(400, {}, 40030)]) {
      await using server = await startServer(handler);
      const run = async () => {
        for await (const _ of server.client().createPlants(numbered(1000), { concurrency: 2 }));
      };
      expect(await caught(run())).toMatchObject({ name: "ServiceRefused", status: 400 });
      expect(server.bodies.length).toBeLessThan(6);
    }
  });

  test("stop when aborted, when the caller leaves the loop, and when the source fails", async () => {
    await using server = await startServer(ok, () => {});
    const controller = new AbortController();
    const run = async (options: object) => {
      for await (const _ of server.client().createPlants(numbered(9), { concurrency: 2, ...options }))
        controller.abort();
    };
    expect(await caught(run({ signal: controller.signal }))).toBeInstanceOf(RequestAborted);
    expect(await caught(run({ signal: controller.signal }))).toBeInstanceOf(RequestAborted);
    await using other = await startServer(ok, () => {});
    for await (const _ of other.client().createPlants(numbered(9), { concurrency: 2 })) break;
    function* failing() {
      yield plant;
      throw new Error("the source broke");
    }
    await using third = await startServer(ok);
    const all = async () => {
      for await (const _ of third.client().createPlants(failing()));
    };
    expect(await caught(all())).toMatchObject({ message: "the source broke" });
  });
});
