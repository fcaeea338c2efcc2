import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { plantStore } from "./command.ts";
import { onEveryEngine } from "./engines.ts";
import { post, startTestService, storedPlants, temporaryFolder } from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const plants = [
  '{"id":9007199254740993,"name":"Fern","tag":"indoor"}',
  '{"id":-5,"name":"Oak\\u001b[31m red\\nline\\u009b32m"}',
  '{"id":7,"name":"Moss, \\"soft\\"","tag":""}',
];

onEveryEngine((engine) => {
  describe("list, show and export", () => {
    let database: string[] = [];
    let close = async () => {};
    beforeAll(async () => {
      const running = await engine.start();
      close = async () => running[Symbol.asyncDispose]();
      database = ["--database", running.database];
      for (const plant of plants) await post(running.url, plant);
    });
    afterAll(() => close());

    test("list prints a table, and no name can control the terminal", async () => {
      const { code, out } = await plantStore(["list", ...database]);
      const [heading, ...rows] = out.trimEnd().split("\n");
      expect(code).toBe(0);
      expect(heading).toMatch(/^ID +NAME +TAG +STORED +BY$/);
      expect(rows.map((row) => row.split(/ +/)[0])).toEqual(["7", "-5", "9007199254740993"]);
      expect(rows[1]).toContain("Oak\\u{1b}[31m red\\u{a}line");
    });

    test("list filters, and says if there are more", async () => {
      const json = async (...args: string[]) =>
        JSON.parse((await runInProcess(["list", "--json", ...args, ...database])).out).map(
          ({ id }: { id: string }) => id,
        );
      expect(await json("--tag", "indoor")).toEqual(["9007199254740993"]);
      expect(await json("--name", "MOSS")).toEqual(["7"]);
      expect(await json("--oldest", "--limit", "1")).toEqual(["9007199254740993"]);
      expect(await json("--until", "2020-01-01")).toEqual([]);
      expect((await runInProcess(["list", "--limit", "1", ...database])).err).toContain(
        "Showing the first 1.",
      );
      expect((await runInProcess(["list", "--tag", "none", ...database])).err).toBe("No plants match.\n");
    });

    test("show prints one plant, even with a negative id", async () => {
      const { code, out } = await runInProcess(["show", "-5", "--json", ...database]);
      expect([code, JSON.parse(out)]).toMatchObject([
        0,
        { id: "-5", name: "Oak\u001b[31m red\nline\u009b32m" },
      ]);
      expect((await runInProcess(["show", "9007199254740993", ...database])).out).toMatch(
        /^id +9007199254740993\nname +Fern\ntag +indoor\n/,
      );
      expect(await runInProcess(["show", "9007199254740992", ...database])).toMatchObject({
        code: 1,
        err: "plant-store: no plant has the id 9007199254740992.\n",
      });
    });

    test("no output but CSV contains a control character of a plant", async () => {
      for (const args of [
        ["list"],
        ["list", "--json"],
        ["show", "-5"],
        ["show", "-5", "--json"],
        ["export"],
      ]) {
        const { out } = await runInProcess([...args, ...database]);
        expect(out).toContain("Oak\\u");
        expect(out.replaceAll("\n", "")).toMatch(/^\P{Cc}+$/u);
      }
    });

    test("export prints what import reads", async () => {
      const { out } = await runInProcess(["export", ...database]);
      expect(out.split("\n")[0]).toStartWith(
        '{"id":9007199254740993,"name":"Fern","tag":"indoor","createdAt":',
      );
      const { out: csv } = await runInProcess(["export", "--format", "csv", ...database]);
      expect(csv).toContain('\r\n7,"Moss, ""soft""","",');
      expect(csv).toStartWith("id,name,tag,created_at,created_by\r\n9007199254740993,Fern,indoor,");
      const { out: safe } = await runInProcess(["export", "--format", "csv-safe", ...database]);
      expect(safe).toStartWith(
        'id,safe_name,safe_tag,created_at,safe_created_by\r\n9007199254740993,"Fern","indoor",',
      );
    });

    for (const [args, message] of [
      [["show"], "usage: plant-store show ID"],
      [["show", "1.5"], "the id must be an integer"],
      [["list", "--limit", "0"], "--limit must be an integer"],
      [["list", "--since", "soon"], "--since must be a time"],
      [["list", "x"], 'unexpected argument "x"'],
      [["export", "--format", "xml"], "--format must be ndjson, json, csv or csv-safe"],
    ] as const) {
      test(`${args.join(" ")} is refused`, async () => {
        const { code, err } = await runInProcess([...args, ...database]);
        expect([code, err]).toEqual([2, expect.stringContaining(message)]);
      });
    }
  });
});

describe("backup, restore and verify", () => {
  test("a backup of a store in use has every plant acknowledged before it, and can be restored", async () => {
    using folder = temporaryFolder();
    await using running = await startTestService();
    const file = join(folder.path, "backup.db");
    const many = Array.from({ length: 1100 }, (_, index) => `{"id":${-100 - index},"name":"many"}`);
    await Promise.all([...plants, ...many].map((plant) => post(running.url, plant)));
    let writing = true;
    let slowestMs = 0;
    const writer = (async () => {
      for (let id = 100; writing; id++) {
        const startMs = performance.now();
        await post(running.url, JSON.stringify({ id, name: "n".repeat(500) }));
        slowestMs = Math.max(slowestMs, performance.now() - startMs);
      }
    })();
    const before = storedPlants(running.database);
    const { code, err } = await plantStore(["backup", file, "--database", running.database]);
    writing = false;
    await writer;
    const counted = storedPlants(file).length.toLocaleString("en");
    expect([code, err]).toEqual([0, expect.stringMatching(/ plants: .* [kM]B\.\nSHA-256 [0-9a-f]{64}\n$/)]);
    expect(err).toStartWith(`Backed up and checked ${counted} plants: `);
    expect(slowestMs).toBeLessThan(1000);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(`${file}.sha256`, "utf8")).toMatch(/^[0-9a-f]{64} {2}backup\.db\n$/);
    expect(existsSync(`${file}.partial`)).toBe(false);

    const restored = join(folder.path, "new", "plants.db");
    expect((await runInProcess(["restore", file, "--database", restored])).code).toBe(0);
    expect(storedPlants(restored)).toEqual(expect.arrayContaining(before));
    expect((await runInProcess(["verify", "--database", restored])).err).toContain("is intact");
    await using again = await startTestService({}, restored);
    for (const plant of plants)
      expect((await post(again.url, plant)).headers.get("idempotent-replayed")).toBe("true");
  }, 30_000);

  test("nothing is overwritten, and a changed backup is not restored", async () => {
    using folder = temporaryFolder();
    const database = join(folder.path, "plants.db");
    const file = join(folder.path, "backup.db");
    {
      await using running = await startTestService({}, database);
      await post(running.url, plants[0] ?? "");
    }
    expect((await runInProcess(["backup", file, "--database", database])).code).toBe(0);
    expect((await runInProcess(["backup", file, "--database", database])).err).toContain(
      "a backup never overwrites",
    );
    expect((await runInProcess(["restore", file, "--database", database])).err).toContain(
      "restoring never overwrites",
    );
    const bytes = readFileSync(file);
    bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
    chmodSync(file, 0o600);
    writeFileSync(file, bytes);
    const elsewhere = join(folder.path, "elsewhere.db");
    expect((await runInProcess(["restore", file, "--database", elsewhere])).err).toContain(
      "does not match its checksum",
    );
    expect(existsSync(elsewhere)).toBe(false);
    expect(
      (await runInProcess(["restore", join(folder.path, "none.db"), "--database", elsewhere])).err,
    ).toContain("does not exist");
    expect(
      (await runInProcess(["backup", join(folder.path, "b2.db"), "--database", elsewhere])).err,
    ).toContain("does not exist");
  }, 20_000);

  test("a backup follows no symlink, and replaces nothing but what an interrupted one left", async () => {
    using folder = temporaryFolder();
    const path = (name: string) => join(folder.path, name);
    const database = path("plants.db");
    await (await startTestService({}, database))[Symbol.asyncDispose]();
    const precious = path("precious");
    const backUp = (name: string) => runInProcess(["backup", path(name), "--database", database]);

    for (const ending of ["", ".sha256", ".partial"]) {
      writeFileSync(precious, "precious");
      for (const target of [precious, path("nothing")]) {
        symlinkSync(target, path(`a.db${ending}`));
        const { code, err } = await backUp("a.db");
        expect([ending, code, err]).toEqual([ending, 1, expect.stringContaining(`a.db${ending} exists`)]);
        expect([readFileSync(precious, "utf8"), existsSync(path("nothing"))]).toEqual(["precious", false]);
        rmSync(path(`a.db${ending}`));
        expect(readdirSync(folder.path).sort()).toEqual(["plants.db", "plants.db.lock", "precious"]);
      }
      writeFileSync(path(`b.db${ending}`), "precious too");
      expect((await backUp("b.db")).code).toBe(1);
      expect(readFileSync(path(`b.db${ending}`), "utf8")).toBe("precious too");
      rmSync(path(`b.db${ending}`));
    }

    copyFileSync(database, path("c.db.partial"));
    expect((await backUp("c.db")).code).toBe(0);
    expect(statSync(path("c.db.sha256")).mode & 0o777).toBe(0o600);
    expect(existsSync(path("c.db.partial"))).toBe(false);
  }, 30_000);

  test("a WAL left by an older file does not affect a restored one", async () => {
    using folder = temporaryFolder();
    const database = join(folder.path, "plants.db");
    const file = join(folder.path, "backup.db");
    {
      await using running = await startTestService({}, database);
      await post(running.url, plants[0] ?? "");
    }
    await runInProcess(["backup", file, "--database", database]);
    const target = join(folder.path, "restored.db");
    writeFileSync(`${target}-wal`, "the WAL of a deleted file");
    writeFileSync(`${target}-shm`, "its index");
    expect((await runInProcess(["restore", file, "--database", target])).code).toBe(0);
    expect(storedPlants(target)).toEqual(storedPlants(database));
  }, 20_000);

  test("verify finds a damaged page and a name that is not text", async () => {
    using folder = temporaryFolder();
    const database = join(folder.path, "plants.db");
    {
      await using running = await startTestService({}, database);
      for (let id = 0; id < 300; id++)
        await post(running.url, JSON.stringify({ id, name: `name ${id}`, tag: "t" }));
    }
    const { Database } = await import("bun:sqlite");
    {
      using file = new Database(database);
      file.run("UPDATE plants SET name = CAST(x'ff' AS TEXT) WHERE id = 7");
      file.run("DELETE FROM plants WHERE id = 9");
    }
    const { code, err } = await runInProcess(["verify", "--database", database]);
    expect(code).toBe(1);
    expect(err).toContain("the plant with the id 7: its name is not text");
    expect(err).toContain("1 of the plants 1 to 300 are missing");
    const bytes = readFileSync(database);
    bytes.fill(0xff, 3 * 4096 + 8, 3 * 4096 + 600);
    writeFileSync(database, bytes);
    expect((await runInProcess(["verify", "--database", database])).code).toBe(1);
  }, 20_000);
});
