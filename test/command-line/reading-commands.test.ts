// The commands that read what is stored: list, show and export.
import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { post } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";

// A store that runs and has these three plants. Tests only read it.
const plants = [
  '{"id":9007199254740993,"name":"Fern","tag":"indoor"}',
  '{"id":-5,"name":"Oak\\u001b[31m red\\nline\\u009b32m"}',
  '{"id":7,"name":"Moss, \\"soft\\"","tag":""}',
];
const service = await startTestService();
for (const plant of plants) await post(service.url, plant);
afterAll(() => service[Symbol.asyncDispose]());

/** Runs a command on the data file of that service. */
const run = (line: string) => runInProcess([...line.split(" "), "--database", service.database]);

describe("list", () => {
  test("prints a table, the newest plant first", async () => {
    const { code, out } = await run("list");
    expect(code).toBe(0);
    expect(out.trimEnd().split("\n")).toEqual([
      expect.stringMatching(/^id +createdAt +name +tag +createdBy$/),
      // An empty tag, no tag, and control characters in a name.
      expect.stringMatching(/^7 +\S+Z +Moss, "soft" +"" +preset-access$/),
      expect.stringMatching(/^-5 +\S+Z +Oak\\u\{1b\}\[31m red\\u\{a\}line\\u\{9b\}32m +- +preset-access$/),
      expect.stringMatching(/^9007199254740993 +\d{4}-\d\d-\d\dT\S+Z +Fern +indoor +preset-access$/),
    ]);
  });

  test.each([
    ["--tag indoor", ["9007199254740993"]],
    ["--name MOSS", ["7"]],
    ["--oldest --limit 1", ["9007199254740993"]],
    ["--until 1h", []],
    ["--tag indoor --since 1h", ["9007199254740993"]],
    ["--token nobody", []],
  ])("prints the plants that match %s", async (filters, ids) => {
    const { out } = await run(`list --json ${filters}`);
    expect(JSON.parse(out).map(({ id }: { id: string }) => id)).toEqual(ids);
  });

  test("says if there are more plants that match than it prints, or none", async () => {
    expect((await run("list --limit 1")).err).toStartWith("Showing the first 1. Use --limit for");
    expect((await run("list --tag indoor --oldest --limit 1")).err).toBe("");
    expect((await run("list --tag none")).err).toBe("No plants match.\n");
  });
});

test("show prints the fields that a plant has, and finds no neighbour of an id that a double cannot hold", async () => {
  const tagged = await run("show 9007199254740993");
  expect(tagged.out).toMatch(/^id +9007199254740993\ncreatedAt +\S+Z\nname +Fern\ntag +indoor\n/);
  expect((await run("show -5")).out).not.toMatch(/^tag\b/m);
  expect((await run("show 9007199254740992")).code).toBe(1);
});

test.each(["show -5", "show -5 --json", "export", "export --format csv"])(
  "%s prints no control character on a terminal but the ends of lines",
  async (command) => {
    const args = [...command.split(" "), "--database", service.database];
    const { out } = await runInProcess(args, { terminal: { outIsTerminal: true } });
    expect(out.replaceAll(/\r?\n/g, "")).toMatch(/^\P{Cc}+$/u);
  },
);

const fern = '{"id":9007199254740993,"name":"Fern","tag":"indoor","createdAt":';
test.each([
  ["ndjson", fern],
  ["json", `[\n${fern}`],
  ["csv", "id,name,tag,created_at,created_by\r\n9007199254740993,"],
  ["csv-safe", 'id,safe_name,safe_tag,created_at,safe_created_by\r\n9007199254740993,"Fern","indoor",'],
])("export prints %s that import reads, the oldest plant first", async (format, start) => {
  using folder = temporaryFolder();
  const file = join(folder.path, "exported");
  const exported = await run(`export --format ${format}`);
  expect(exported.out).toStartWith(start);
  writeFileSync(file, exported.out);
  const { out } = await runInProcess(["import", file, "--dry-run", "--json"]);
  expect(JSON.parse(out)).toMatchObject({ valid: 3, refused: 0 });
});
