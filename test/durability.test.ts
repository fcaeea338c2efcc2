import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { mkdirSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { start, watch } from "./command.ts";
import { accessToken, eventually, post, startTestService, storedPlants, temporaryFolder } from "./harness.ts";
import { runKillRounds } from "./soak/kill.ts";

describe("what was acknowledged is stored", () => {
  test("after a loaded service was killed with -9 again and again", async () => {
    const { acknowledged, lost } = await runKillRounds({ rounds: 6, random: Math.random, tell: () => {} });
    expect(acknowledged).toBeGreaterThan(100);
    expect(lost).toBe(0);
  }, 60_000);

  test("in a data file with a WAL", async () => {
    await using running = await startTestService();
    await post(running.url, '{"id":1,"name":"a"}');
    using database = new Database(running.database);
    expect(database.query("PRAGMA journal_mode").get()).toEqual({ journal_mode: "wal" });
    expect(statSync(`${running.database}-wal`).size).toBeGreaterThan(0);
  });

  test("in the data file alone after a graceful shutdown, without a WAL", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    const running = await startTestService({}, file);
    await post(running.url, '{"id":1,"name":"a"}');
    await running[Symbol.asyncDispose]();
    expect(statSync(`${file}-wal`, { throwIfNoEntry: false })).toBeUndefined();
    expect(storedPlants(file)).toHaveLength(1);
  });
});

describe("a process that exits without closing leaves the WAL for the next start", () => {
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  const ends: [what: string, code: number, end: (child: ChildProcess) => Promise<unknown>][] = [
    [
      "after a second signal",
      143,
      async (child) => {
        child.kill("SIGTERM");
        await Bun.sleep(1200);
        child.kill("SIGTERM");
      },
    ],
    ["after an exception that nobody caught", 1, async (child) => child.kill("SIGUSR2")],
  ];
  for (const [what, code, end] of ends) {
    test(what, async () => {
      using folder = temporaryFolder();
      const file = join(folder.path, "plants.db");
      const throwing = join(folder.path, "throw-on-signal.ts");
      writeFileSync(throwing, 'process.on("SIGUSR2", () => { throw new Error("unexpected"); });');
      const flags = ["--database", file, "--drain-delay", "60s"];
      const child = start(process.execPath, ["--preload", throwing, main, "serve", ...flags], {
        environment: { PLANT_STORE_ACCESS_TOKEN: accessToken },
      });
      const { err, ended } = watch(child);
      await eventually(() => err().includes("listening"));
      const url = /"url\.full":"([^"]+)"/.exec(err())?.[1] ?? "";
      expect((await post(url, '{"id":1,"name":"a"}')).status).toBe(200);
      await end(child);
      expect((await ended).code).toBe(code);
      expect(statSync(`${file}-wal`).size).toBeGreaterThan(0);
    });
  }
});

describe("another process that holds the write lock", () => {
  test("delays creates and nothing else, and they succeed when it releases the lock", async () => {
    await using running = await startTestService();
    using other = new Database(running.database);
    other.run("BEGIN IMMEDIATE");
    let answered = false;
    const waiting = post(running.url, '{"id":1,"name":"a"}').finally(() => {
      answered = true;
    });
    await Bun.sleep(100);
    expect((await fetch(`${running.url}/livez`)).status).toBe(200);
    expect(answered).toBe(false);
    other.run("ROLLBACK");
    expect((await waiting).status).toBe(200);
  });

  test("for too long makes creates fail with 50302, and the service recovers by itself", async () => {
    await using running = await startTestService();
    using other = new Database(running.database);
    other.run("BEGIN IMMEDIATE");
    const refused = await post(running.url, '{"id":1,"name":"a"}');
    expect([refused.status, await refused.json()]).toMatchObject([503, { error: 50302 }]);
    expect(refused.headers.get("retry-after")).toBe("1");
    other.run("ROLLBACK");
    await eventually(async () => (await fetch(`${running.url}/readyz`)).status === 200);
    expect((await post(running.url, '{"id":1,"name":"a"}')).status).toBe(200);
  }, 20_000);
});

// A small file system needs a mount namespace, which some containers do not allow.
const leftBytes = 700_000;
const settleMs = 500;
const canMount = spawnSync("unshare", ["-rm", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;

describe.each([
  ["before the first checkpoint", { size: "2m", plantsBefore: 1, nameLetters: 500 }],
  ["during checkpoints", { size: "80m", plantsBefore: 800, nameLetters: 30_000 }],
])("a full disk, %s,", (_, { size, plantsBefore, nameLetters }) => {
  test.skipIf(!canMount)(
    "is answered with 50302 and loses nothing, and the service recovers when there is space",
    async () => {
      using folder = temporaryFolder();
      const disk = join(folder.path, "disk");
      mkdirSync(disk);
      const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
      const script = `mount -t tmpfs -o size=${size} none ${disk} && exec ${process.execPath} ${main} serve --listen 127.0.0.1:0 --operator-listen off --database ${disk}/plants.db`;
      const child = spawn("unshare", ["-rm", "sh", "-c", script], {
        env: { PATH: process.env["PATH"] ?? "", PLANT_STORE_ACCESS_TOKEN: accessToken },
        stdio: ["ignore", "ignore", "pipe"],
      });
      try {
        let err = "";
        child.stderr.on("data", (text) => {
          err += text;
        });
        await eventually(() => err.includes("listening"));
        const url = /"url\.full":"([^"]+)"/.exec(err)?.[1] ?? "";
        const seen = `/proc/${child.pid}/root${disk}`;
        const acknowledged: number[] = [];
        const bodyOf = (id: number) => JSON.stringify({ id, name: `plant ${id} ${"x".repeat(nameLetters)}` });
        const create = async (id: number): Promise<number> => {
          const { status } = await post(url, bodyOf(id));
          if (status === 200) acknowledged.push(id);
          return status;
        };

        let id = 1;
        while (id <= plantsBefore) await create(id++);
        // A checkpoint may be in progress, which needs space too.
        await Bun.sleep(settleMs);
        const { bavail, bsize } = statfsSync(seen);
        writeFileSync(join(seen, "filler"), Buffer.alloc(bavail * bsize - leftBytes));
        let status = 200;
        while (status === 200 && id < 5000) status = await create(id++);
        expect(status).toBe(503);
        expect((await fetch(`${url}/readyz`)).status).toBe(503);
        expect((await fetch(`${url}/livez`)).status).toBe(200);
        expect(err).toContain("The disk is full");

        rmSync(join(seen, "filler"));
        await eventually(async () => (await fetch(`${url}/readyz`)).status === 200);
        expect(await create(id)).toBe(200);
        for (const known of acknowledged) {
          const replay = await post(url, bodyOf(known));
          expect(replay.headers.get("idempotent-replayed")).toBe("true");
        }
        expect(child.exitCode).toBeNull();
      } finally {
        child.kill("SIGKILL");
      }
    },
    60_000,
  );
});

test("a write with an unknown outcome stops the service, and a restart has every acknowledged plant", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "plants.db");
  const main = fileURLToPath(new URL("../src/main.ts", import.meta.url));
  // Files are limited to 200 KiB: a larger write fails with EFBIG, which does not mean a full disk.
  const script = `trap '' XFSZ; ulimit -f 400; exec ${process.execPath} ${main} serve --listen 127.0.0.1:0 --operator-listen off --database ${file}`;
  const child = spawn("sh", ["-c", script], {
    env: { PATH: process.env["PATH"] ?? "", PLANT_STORE_ACCESS_TOKEN: accessToken },
    stdio: ["ignore", "ignore", "pipe"],
  });
  let err = "";
  child.stderr.on("data", (text) => {
    err += text;
  });
  const ended = new Promise<number | null>((resolve) => child.on("close", resolve));
  await eventually(() => err.includes("listening"));
  const url = /"url\.full":"([^"]+)"/.exec(err)?.[1] ?? "";
  let acknowledged = 0;
  let status = 200;
  while (status === 200 && acknowledged < 5000) {
    ({ status } = await post(url, JSON.stringify({ id: acknowledged, name: "x".repeat(2000) })));
    if (status === 200) acknowledged++;
  }
  expect(status).toBe(503);
  expect(await ended).toBe(1);
  expect(err).toContain("write outcome unknown");
  expect(acknowledged).toBeGreaterThan(10);

  await using again = await startTestService({}, file);
  const stored = new Set(storedPlants(again.database).map(({ id }) => Number(id)));
  for (let id = 0; id < acknowledged; id++) expect(stored.has(id)).toBe(true);
}, 30_000);
