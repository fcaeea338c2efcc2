import { describe, expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { arrivalsFromText } from "../src/workers/arrivals-text.ts";
import { plantStore, serve } from "./command.ts";
import { onEveryEngine } from "./engines.ts";
import {
  accessToken,
  eventually,
  operatorToken,
  post,
  rawPost,
  sendRaw,
  startTestService,
  storedPlants,
  temporaryFolder,
  untilContinue,
} from "./harness.ts";
import { readMetrics } from "./metrics-page.ts";
import { freePort } from "./postgres.ts";

const three = { workers: "3" };
// A new connection each time, so that the kernel distributes them over the workers.
const apart = { Connection: "close" };

/** Records each worker that starts, and how many plants it received. */
function watchHiring(): { readonly workers: Worker[]; plantsTaken(): number } & Disposable {
  const RealWorker = globalThis.Worker;
  const workers: Worker[] = [];
  let taken = 0;
  globalThis.Worker = class extends RealWorker {
    constructor(url: string | URL) {
      super(url);
      // The store starts threads too.
      if (!String(url).includes("worker-thread")) return;
      workers.push(this);
      this.addEventListener("message", ({ data }) => {
        if (data.method === "create") taken += arrivalsFromText(data.values[0]).length;
      });
    }
  };
  return {
    workers,
    plantsTaken: () => taken,
    [Symbol.dispose]: () => {
      globalThis.Worker = RealWorker;
    },
  };
}

onEveryEngine((engine) => {
  describe("several workers on one port", () => {
    test("create every plant once, whichever worker receives it", async () => {
      using hired = watchHiring();
      await using running = await engine.start(three);
      const ids = Array.from({ length: 300 }, (_, index) => 2n ** 63n - 1n - BigInt(index));
      const responses = await Promise.all(
        ids.map((id) => post(running.url, `{"id":${id},"name":"n${id} 🌱","tag":"t"}`, apart)),
      );
      expect(responses.every(({ status }) => status === 200)).toBe(true);
      expect((await engine.stored(running.database)).map(({ id, name }) => [id, name])).toEqual(
        ids.toReversed().map((id) => [id, `n${id} 🌱`]),
      );
      expect(hired.plantsTaken()).toBeGreaterThan(0);
      const again = await Promise.all(
        ids.map((id) => post(running.url, `{"id":${id},"name":"n${id} 🌱","tag":"t"}`, apart)),
      );
      expect(again.every(({ headers }) => headers.get("idempotent-replayed") === "true")).toBe(true);
    });

    test("create exactly one of the plants racing for an id", async () => {
      await using running = await engine.start(three);
      for (let id = 0; id < 10; id++) {
        const names = Array.from({ length: 12 }, (_, index) => `racer ${index}`);
        const responses = await Promise.all(
          names.map((name) => post(running.url, JSON.stringify({ id, name }), apart)),
        );
        expect(responses.filter(({ status }) => status === 200)).toHaveLength(1);
        const refusals = await Promise.all(
          responses.filter(({ status }) => status === 400).map((response) => response.json()),
        );
        expect(refusals.every((refusal) => (refusal as { error: number }).error === 40020)).toBe(true);
      }
    });

    test("share one rate limit", async () => {
      await using running = await engine.start({ ...three, "rate-limit": "20/h" });
      const responses = await Promise.all(
        Array.from({ length: 60 }, (_, id) => post(running.url, `{"id":${id},"name":"a"}`, apart)),
      );
      expect(responses.filter(({ status }) => status === 200)).toHaveLength(20);
      expect(responses.filter(({ status }) => status === 429)).toHaveLength(40);
    });

    test("share the rate limit of one token", async () => {
      await using running = await engine.start(three);
      const created = await fetch(`${running.operatorUrl}/api/tokens`, {
        method: "POST",
        headers: { Authorization: `Bearer ${operatorToken}` },
        body: JSON.stringify({ name: "slow", rateLimit: "20/h" }),
      });
      const { secret } = (await created.json()) as { secret: string };
      const headers = { ...apart, Authorization: `Bearer ${secret}` };
      // Every worker has heard of the token once none refuses it.
      await eventually(async () => {
        const asked = Array.from({ length: 12 }, () => post(running.url, "{}", headers));
        return (await Promise.all(asked)).every(({ status }) => status !== 401);
      });
      const responses = await Promise.all(
        Array.from({ length: 60 }, (_, id) => post(running.url, `{"id":${id},"name":"a"}`, headers)),
      );
      expect(responses.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(8);
      const others = await Promise.all(
        Array.from({ length: 60 }, (_, id) => post(running.url, `{"id":${100 + id},"name":"a"}`, apart)),
      );
      expect(others.every(({ status }) => status === 200)).toBe(true);
    });

    test("share one limit of pending plants", async () => {
      await using running = await engine.start({ ...three, "max-pending": "1" });
      const responses = await Promise.all(
        Array.from({ length: 120 }, (_, id) => post(running.url, `{"id":${id},"name":"a"}`, apart)),
      );
      const stored = responses.flatMap(({ status }, id) => (status === 200 ? [BigInt(id)] : []));
      expect(responses.some(({ status }) => status === 503)).toBe(true);
      expect((await engine.stored(running.database)).map(({ id }) => id)).toEqual(stored);
    });

    test("all learn of a new or revoked token within a second, and stop cleanly", async () => {
      const database = ["--database", await engine.newDatabase()];
      // Each request comes from another address, so that failed credentials are not delayed.
      const flags = ["--workers", "3", "--trusted-proxies", "127.0.0.1"];
      const service = await serve([...database, ...flags], {
        environment: { PLANT_STORE_ACCESS_TOKEN: accessToken },
      });
      let id = 0;
      const statuses = async (secret: string) => {
        const asked = Array.from({ length: 30 }, () => {
          const address = `10.0.${++id >> 8}.${id & 255}`;
          const headers = { ...apart, Authorization: `Bearer ${secret}`, "X-Forwarded-For": address };
          return post(service.url, `{"id":${id},"name":"a"}`, headers);
        });
        return new Set((await Promise.all(asked)).map(({ status }) => status));
      };
      const secret = (await plantStore(["token", "create", "--name", "x", ...database])).out.trim();
      await eventually(
        async () => (await statuses(secret)).has(200) && !(await statuses(secret)).has(401),
        1000,
      );
      await plantStore(["token", "revoke", "x", ...database]);
      await eventually(async () => !(await statuses(secret)).has(200), 1000);
      service.child.kill("SIGTERM");
      const { code, err } = await service.ended();
      expect([code, err]).toEqual([0, expect.stringContaining("every acknowledged plant is on disk")]);
    }, 20_000);

    test("finish the requests in flight when they stop", async () => {
      await using running = await engine.start(three);
      let accepted = 0;
      const stopping = Promise.withResolvers<void>();
      const asked = Array.from({ length: 24 }, (_, id) => {
        const body = JSON.stringify({ id, name: "half sent" });
        const text = rawPost(body, "Expect: 100-continue\r\n");
        const head = text.slice(0, -body.length);
        const untilStopping = () => {
          accepted++;
          return stopping.promise;
        };
        return sendRaw(
          running.port,
          [head, untilContinue, body.slice(0, -5), untilStopping, body.slice(-5)],
          5000,
        );
      });
      await eventually(() => accepted === 24);
      const stopped = running.service.close("test");
      stopping.resolve();
      await stopped;
      for (const { text, closed } of await Promise.all(asked)) {
        expect([text.includes("HTTP/1.1 200 OK"), closed]).toEqual([true, true]);
      }
      expect(await engine.stored(running.database)).toHaveLength(24);
    });

    test("keep serving when one of them dies and is replaced", async () => {
      using hired = watchHiring();
      await using running = await engine.start(three);
      hired.workers[0]?.terminate();
      await eventually(() => running.logged.join("").includes("a worker died"));
      let id = 0;
      const answered = async () => {
        const asked = Array.from({ length: 20 }, () =>
          post(running.url, `{"id":${id++},"name":"a"}`, apart).then(
            ({ status }) => status,
            () => 0,
          ),
        );
        return (await Promise.all(asked)).every((status) => status === 200);
      };
      await eventually(answered);
      await eventually(() => hired.workers.length === 3);
      expect(await answered()).toBe(true);
    }, 20_000);
  });
});

test("workers that die lose nothing that was counted, and their connections count no more", async () => {
  using hired = watchHiring();
  await using running = await startTestService(three);
  const created = async () =>
    (await readMetrics(running)).get('plant_store_request_duration_seconds_count{outcome="created"}') ?? 0;
  const open = async () => (await readMetrics(running)).get('plant_store_connections{listener="public"}');
  let id = 0;
  const create = async () => {
    const posts = Array.from({ length: 60 }, () => post(running.url, `{"id":${id++},"name":"a"}`, apart));
    expect((await Promise.all(posts)).every(({ ok }) => ok)).toBe(true);
  };
  await create();
  expect(await created()).toBe(60);
  const sockets = Array.from({ length: 30 }, () => connect(running.port, "127.0.0.1").on("error", () => {}));
  await eventually(async () => (await open()) === 30);
  for (const worker of hired.workers.slice()) worker.terminate();
  await eventually(() => hired.workers.length === 4);
  for (const socket of sockets) socket.destroy();
  await eventually(async () => (await open()) === 0);
  await create();
  expect(await created()).toBe(120);
}, 20_000);

/** Makes starting a thread fail, as at a process limit. */
function noMoreThreads(): Disposable {
  const RealWorker = globalThis.Worker;
  globalThis.Worker = function failing() {
    throw new TypeError("Failed to spawn worker thread");
  } as unknown as typeof Worker;
  return {
    [Symbol.dispose]: () => {
      globalThis.Worker = RealWorker;
    },
  };
}

test("the port is open only once all workers can listen on it", async () => {
  const RealWorker = globalThis.Worker;
  const load = Promise.withResolvers<void>();
  // A worker that is slow to load.
  globalThis.Worker = class extends RealWorker {
    override postMessage(message: {
      readonly kind: string;
      readonly setting?: { readonly listener?: object };
    }): void {
      if (message.kind !== "start" || message.setting?.listener === undefined)
        return super.postMessage(message);
      void load.promise.then(() => super.postMessage(message));
    }
  };
  using cleanUp = new DisposableStack();
  cleanUp.defer(() => {
    globalThis.Worker = RealWorker;
  });
  const port = await freePort();
  const starting = startTestService({ listen: `127.0.0.1:${port}`, workers: "2" });
  const isOpen = () =>
    fetch(`http://127.0.0.1:${port}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  await Bun.sleep(300);
  expect(await isOpen()).toBe(false);
  load.resolve();
  await using running = await starting;
  expect(await isOpen()).toBe(true);
  expect(running.url).toContain(String(port));
});

describe("if no thread can be started", () => {
  test("a start with workers says so in one sentence", async () => {
    using _ = noMoreThreads();
    const problem = await startTestService(three).then(
      () => undefined,
      (error: Error) => error,
    );
    expect(problem?.name).toBe("WorkerProblem");
    expect(problem?.message).toContain("A worker could not be started: Failed to spawn worker thread.");
  });

  test("a worker that died is restarted later, and the others keep serving", async () => {
    using hired = watchHiring();
    await using running = await startTestService({ workers: "2" });
    using _ = noMoreThreads();
    hired.workers[0]?.terminate();
    await eventually(() => running.logged.filter((line) => line.includes("a worker died")).length >= 2);
    expect(running.logged.join("")).toContain("could not be started");
    await eventually(
      async () =>
        (await post(running.url, '{"id":1,"name":"a"}', apart).catch(() => undefined))?.status === 200,
    );
  });

  test("plants are still stored, and no outcome is unknown", async () => {
    await using running = await startTestService();
    using _ = noMoreThreads();
    // Enough for several checkpoints of the WAL.
    const name = "x".repeat(60_000);
    for (let first = 0; first < 1200; first += 100) {
      const ids = Array.from({ length: 100 }, (__, index) => first + index);
      const responses = await Promise.all(ids.map((id) => post(running.url, JSON.stringify({ id, name }))));
      expect(responses.filter(({ status }) => status !== 200)).toEqual([]);
    }
    expect((await fetch(`${running.url}/readyz`)).status).toBe(200);
    expect(running.logged.join("")).not.toContain("in doubt");
    const overview = await fetch(`${running.operatorUrl}/api/plants`, {
      headers: { Authorization: `Bearer ${operatorToken}` },
    });
    expect(overview.status).toBe(503);
  });
});

test("after an unknown outcome all workers refuse, and the service stops", async () => {
  using folder = temporaryFolder();
  const main = join(import.meta.dir, "../src/main.ts");
  const file = join(folder.path, "p.db");
  const script = `trap '' XFSZ; ulimit -f 400; exec ${process.execPath} ${main} serve --workers 3 --listen 127.0.0.1:0 --operator-listen off --database ${file}`;
  const child = Bun.spawn(["sh", "-c", script], {
    env: { PLANT_STORE_ACCESS_TOKEN: accessToken, PATH: process.env["PATH"] ?? "" },
    stderr: "pipe",
    stdout: "ignore",
  });
  let err = "";
  const reading = (async () => {
    for await (const bytes of child.stderr) err += new TextDecoder().decode(bytes);
  })();
  await eventually(() => err.includes("listening"));
  const url = /"url\.full":"([^"]+)"/.exec(err)?.[1] ?? "";
  const acknowledged: number[] = [];
  let id = 0;
  const client = async () => {
    for (let status = 200; status === 200 && id < 5000; ) {
      const mine = id++;
      status = await post(url, JSON.stringify({ id: mine, name: "x".repeat(2000) }), apart).then(
        (response) => response.status,
        () => 0,
      );
      if (status === 200) acknowledged.push(mine);
    }
  };
  await Promise.all(Array.from({ length: 12 }, client));
  expect(await child.exited).toBe(1);
  await reading;
  expect(err).toContain("write outcome unknown");
  await using again = await startTestService({}, file);
  const stored = new Set(storedPlants(again.database).map((plant) => Number(plant.id)));
  expect(acknowledged.filter((one) => !stored.has(one))).toEqual([]);
}, 30_000);
