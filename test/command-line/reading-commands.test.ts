// The commands that read what is stored: list, show and export.
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { post } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";

// A store that runs and has these three plants. Tests only read it; one that creates plants has a service of its own.
const plants = [
  '{"id":9007199254740993,"name":"Fern","tag":"indoor"}',
  '{"id":-5,"name":"Oak\\u001b[31m red\\nline\\u009b32m"}',
  '{"id":7,"name":"Moss, \\"soft\\"","tag":""}',
];
const service = await startTestService();
for (const plant of plants) await post(service.url, plant);
afterAll(() => service[Symbol.asyncDispose]());

/** Runs a command on the data file of that service, or on another one. */
const run = (args: readonly string[], database = service.database) =>
  runInProcess([...args, "--database", database]);

describe("list", () => {
  test("prints a table, the newest plant first", async () => {
    const { code, out } = await run(["list"]);
    expect(code).toBe(0);
    expect(out.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^id +createdAt +name +tag +createdBy$/),
      // An empty tag, no tag, and control characters in a name.
      expect.stringMatching(/^7 +\S+Z +Moss, "soft" +"" +preset-access$/),
      expect.stringMatching(/^-5 +\S+Z +Oak\\u\{1b\}\[31m red\\u\{a\}line\\u\{9b\}32m +- +preset-access$/),
      expect.stringMatching(
        /^9007199254740993 +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z +Fern +indoor +preset-access$/,
      ),
    ]);
  });

  test.each([
    { filters: "--tag indoor", ids: ["9007199254740993"] },
    { filters: "--name MOSS", ids: ["7"] },
    { filters: "--oldest --limit 1", ids: ["9007199254740993"] },
    { filters: "--until 1h", ids: [] },
    { filters: "--tag indoor --since 1h", ids: ["9007199254740993"] },
    { filters: "--token nobody", ids: [] },
  ])("prints the plants that match $filters", async ({ filters, ids }) => {
    const { out } = await run(["list", "--json", ...filters.split(" ")]);
    expect(JSON.parse(out).map(({ id }: { id: string }) => id)).toEqual(ids);
  });

  test("says if there are more plants that match than it prints, and only then", async () => {
    const more = await run(["list", "--limit", "1"]);
    expect(more.err).toStartWith("Showing the first 1. Use --limit for");
    const all = await run(["list", "--tag", "indoor", "--oldest", "--limit", "1"]);
    expect(all.out).toContain("Fern");
    expect(all.err).toBe("");
  });

  test("says if there are no plants yet, or if none matches", async () => {
    await using empty = await startTestService();
    expect((await run(["list"], empty.database)).err).toBe("No plants yet.\n");
    expect((await run(["list", "--tag", "none"])).err).toBe("No plants match.\n");
  });
});

describe("show", () => {
  test("prints the fields that a plant has, an empty tag as quotation marks", async () => {
    const tagged = await run(["show", "9007199254740993"]);
    expect(tagged.out).toMatch(/^id +9007199254740993\ncreatedAt +\S+Z\nname +Fern\ntag +indoor\n/);
    const withEmptyTag = await run(["show", "7"]);
    expect(withEmptyTag.out).toMatch(/^tag +""$/m);
    const untagged = await run(["show", "-5"]);
    expect(untagged.out).not.toMatch(/^tag\b/m);
  });

  test("prints JSON of a plant with a negative id", async () => {
    const { code, out } = await run(["show", "-5", "--json"]);
    expect(code).toBe(0);
    expect(JSON.parse(out)).toMatchObject({ id: "-5", name: "Oak\u001b[31m red\nline\u009b32m" });
  });

  test("fails for the neighbour of an id that a double cannot hold", async () => {
    const { code } = await run(["show", "9007199254740992"]);
    expect(code).toBe(1);
  });
});

test.each(["show -5", "show -5 --json", "export", "export --format csv"])(
  "%s prints no control character on a terminal but the ends of lines",
  async (command) => {
    const args = [...command.split(" "), "--database", service.database];
    const { out } = await runInProcess(args, { terminal: { outIsTerminal: true } });
    expect(out.replaceAll(/\r?\n/g, "")).toMatch(/^\P{Cc}+$/u);
  },
);

describe("export", () => {
  const exported = async (format: string, ...filters: string[]) =>
    (await run(["export", "--format", format, ...filters])).out;

  test("prints an empty array if no plant matches", async () => {
    expect(JSON.parse(await exported("json", "--tag", "none"))).toEqual([]);
  });

  const fern = '{"id":9007199254740993,"name":"Fern","tag":"indoor","createdAt":';
  test.each([
    ["ndjson", fern],
    ["json", `[\n${fern}`],
    ["csv", "id,name,tag,created_at,created_by\r\n9007199254740993,"],
    ["csv-safe", 'id,safe_name,safe_tag,created_at,safe_created_by\r\n9007199254740993,"Fern","indoor",'],
  ])("prints %s that import reads, the oldest plant first", async (format, start) => {
    using folder = temporaryFolder();
    const file = join(folder.path, "exported");
    const text = await exported(format);
    expect(text).toStartWith(start);
    writeFileSync(file, text);
    const { out } = await runInProcess(["import", file, "--dry-run", "--json"]);
    expect(JSON.parse(out)).toMatchObject({ valid: 3, refused: 0 });
  });
});
