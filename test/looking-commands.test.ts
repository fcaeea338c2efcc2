import { afterAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import {
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
import { main, plantStore } from "./command.ts";
import { post, startTestService, storedPlants, temporaryFolder } from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const plants = [
  '{"id":9007199254740993,"name":"Fern","tag":"indoor"}',
  '{"id":-5,"name":"Oak\\u001b[31m red\\nline\\u009b32m"}',
  '{"id":7,"name":"Moss, \\"soft\\"","tag":""}',
];
const folder = temporaryFolder();
const path = (...names: string[]) => join(folder.path, ...names);
const service = await startTestService({}, path("plants.db"));
for (const plant of plants) await post(service.url, plant);
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});
/** Runs a command on the data file of the service, or on another one. */
const run = (args: readonly string[], database = service.database, options = {}) =>
  runInProcess([...args, "--database", database], options);

describe("list and show", () => {
  test("list prints a table, and no name can control the terminal", async () => {
    const { code, out } = await run(["list"]);
    const [heading, ...rows] = out.trimEnd().split("\n");
    expect([code, heading]).toEqual([0, expect.stringMatching(/^ID +NAME +TAG +STORED +BY$/)]);
    expect(rows.map((row) => row.split(/ +/)[0])).toEqual(["7", "-5", "9007199254740993"]);
    expect(rows[1]).toContain("Oak\\u{1b}[31m red\\u{a}line");
    expect(rows[2]).toMatch(/ indoor +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ +preset-access$/);
  });

  test("list filters, and says if there are more", async () => {
    const ids = async (...args: string[]) =>
      JSON.parse((await run(["list", "--json", ...args])).out).map(({ id }: { id: string }) => id);
    expect(await ids("--tag", "indoor")).toEqual(["9007199254740993"]);
    expect(await ids("--name", "MOSS")).toEqual(["7"]);
    expect(await ids("--oldest", "--limit", "1")).toEqual(["9007199254740993"]);
    expect(await ids("--until", "2020-01-01")).toEqual([]);
    expect(await ids("--token", "nobody")).toEqual([]);
    expect((await run(["list", "--limit", "1"])).err).toStartWith("Showing the first 1. Use --limit for");
    expect((await run(["list", "--tag", "none"])).err).toBe("No plants match.\n");
  });

  test("a time without a zone is in UTC", () => {
    const hourAgo = new Date(Date.now() - 3_600_000).toISOString().slice(0, 19);
    // Twelve hours after UTC there: read as local, the time would be in the future.
    const env = { PATH: process.env["PATH"] ?? "", TZ: "Etc/GMT+12" };
    const args = [main, "list", "--since", hourAgo, "--database", service.database];
    expect(spawnSync(process.execPath, args, { env, encoding: "utf8" }).stdout).toContain("Fern");
  });

  test("show prints one plant, even with a negative id, and no control character", async () => {
    const { code, out } = await run(["show", "-5", "--json"]);
    const name = "Oak\u001b[31m red\nline\u009b32m";
    expect([code, JSON.parse(out)]).toMatchObject([0, { id: "-5", name }]);
    for (const text of [out, (await run(["show", "-5"])).out, (await run(["export"])).out])
      expect(text.replaceAll("\n", "")).toMatch(/^\P{Cc}+$/u);
    expect((await run(["show", "9007199254740993"])).out).toMatch(
      /^id +9007199254740993\nname +Fern\ntag +indoor\n/,
    );
    expect((await run(["show", "9007199254740992"])).code).toBe(1);
  });
});

describe("export", () => {
  test("prints plants, oldest first, in a format that import reads", async () => {
    const text = async (format: string, ...args: string[]) =>
      (await run(["export", "--format", format, ...args])).out;
    expect(await text("ndjson")).toStartWith(
      '{"id":9007199254740993,"name":"Fern","tag":"indoor","createdAt":',
    );
    expect(await text("csv-safe")).toStartWith(
      'id,safe_name,safe_tag,created_at,safe_created_by\r\n9007199254740993,"Fern","indoor",',
    );
    expect(JSON.parse(await text("json", "--tag", "none"))).toEqual([]);
    for (const format of ["ndjson", "json", "csv", "csv-safe"]) {
      writeFileSync(path("exported"), await text(format));
      const args = ["import", path("exported"), "--dry-run", "--json"];
      expect(JSON.parse((await runInProcess(args)).out)).toMatchObject({ valid: 3, refused: 0 });
    }
  });
});

describe("backup, restore and verify", () => {
  test("a backup of a store in use has every plant acknowledged before it, and can be restored", async () => {
    const file = path("backup.db");
    const before = storedPlants(service.database);
    let writing = true;
    const writer = (async () => {
      for (let id = 100; writing; id++)
        await post(service.url, JSON.stringify({ id, name: "n".repeat(500) }));
    })();
    const { code, err } = await plantStore(["backup", file, "--database", service.database]);
    writing = false;
    await writer;
    const counted = storedPlants(file).length.toLocaleString("en");
    expect([code, err]).toEqual([0, expect.stringContaining(`Backed up and checked ${counted} plants: `)]);
    expect(statSync(file).mode & 0o777).toBe(0o600);

    const restored = path("new", "plants.db");
    expect((await run(["restore", file], restored)).code).toBe(0);
    expect(storedPlants(restored)).toEqual(expect.arrayContaining(before));
    expect((await run(["verify"], restored)).err).toContain("no damage found");
  });

  test("nothing is overwritten, and what does not exist is named", async () => {
    const file = path("second.db");
    const said = async (args: string[], database?: string) => (await run(args, database)).err;
    expect((await run(["backup", file])).code).toBe(0);
    for (const command of ["backup", "restore"])
      expect(await said([command, file])).toContain("already exists");
    expect(await said(["restore", path("none.db")], path("restored.db"))).toContain("does not exist");
    expect(await said(["backup", path("third.db")], path("none.db"))).toContain("does not exist");
  });

  test("a backup follows no symlink, and replaces nothing but what an interrupted one left", async () => {
    using links = temporaryFolder();
    const link = (name: string) => join(links.path, name);
    const backUp = (name: string) => run(["backup", link(name)]);
    writeFileSync(link("precious"), "precious");
    for (const ending of ["", ".sha256", ".partial"]) {
      const inTheWay = link(`a.db${ending}`);
      for (const make of [
        () => symlinkSync(link("precious"), inTheWay),
        () => symlinkSync(link("nothing"), inTheWay),
        () => writeFileSync(inTheWay, "precious"),
      ]) {
        make();
        const { code, err } = await backUp("a.db");
        expect([ending, code, err]).toEqual([ending, 1, expect.stringContaining(`a.db${ending} `)]);
        for (const name of readdirSync(links.path).filter((one) => existsSync(link(one))))
          expect(readFileSync(link(name), "utf8")).toBe("precious");
        rmSync(inTheWay);
        expect(readdirSync(links.path)).toEqual(["precious"]);
      }
    }
    copyFileSync(service.database, link("c.db.partial"));
    expect((await backUp("c.db")).code).toBe(0);
    expect(existsSync(link("c.db.partial"))).toBe(false);
  });
});
