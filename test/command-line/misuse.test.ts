// What a command says that cannot run as it was written: unknown words and flags, wrong values, and what was probably meant.
import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

describe("a command that is misused", () => {
  // FILE stands for a data file that does not exist.
  test.each<[line: string, said: string, code?: number]>([
    ["constructor", 'Unknown command "constructor". See plant-store --help.'],
    ["--listen :0", "Put a command before --listen, such as serve."],
    ["--database=postgres://me:secret@x list", "Put a command before --database,"],
    ["serve --listen 3000", ', but is "3000". See plant-store serve --help.'],
    ["token", "token needs create, list, rotate or revoke. See plant-store token --help."],
    ["list --photosynthesis=secret", "Unknown flag --photosynthesis. See plant-store list --help."],
    ["serve --quiet", "Unknown flag --quiet. See plant-store serve --help."],
    ["import a.csv --token secret", "Unknown flag --token; set the environment variable PLANT_STORE_ACCESS_"],
    ["audit --token secret", "Unknown flag --token. See plant-store audit --help."],
    ["list -x", "Unknown flag -x. See plant-store list --help."],
    ["list --limit", "--limit needs a value. See plant-store list --help."],
    ["list --limit --json", "--limit needs a value. See plant-store list --help."],
    ["list --limit -5", '--limit must be an integer from 1 to 100000, but is "-5". See plant-store list'],
    ["list --json=yes", "--json takes no value. See plant-store list --help."],
    ["list --since soon", "--since must be a time, such as 2026-11-15T09:30Z, or how long ago it is"],
    ["list --tag a --tag b", "--tag can be given only once. See plant-store list --help."],
    ["list x", 'Unexpected argument "x". See plant-store list --help.'],
    ["list --port 3000", "Unknown flag --port. See plant-store list --help."],
    ["backup a.db b.db", 'Unexpected argument "b.db". See plant-store backup --help.'],
    ["show", "ID is needed. See plant-store show --help."],
    ["show 1.5", 'ID must be an integer, but is "1.5"'],
    [
      "show 9223372036854775808",
      "ID must be an integer from -9223372036854775808 to 9223372036854775807, but",
    ],
    ["export --format xml", "--format must be ndjson, json, csv or csv-safe"],
    ["copy postgres://me:secret@x/plants", 'Unexpected argument "postgres://me:***@x/plants". See'],
    ["token create", "--name is needed. See plant-store token create --help."],
    ["token create --name=", '--name must be a name, but is "".'],
    ["token create --name x --scope all", '"all"'],
    ["token create --name x --expires -1d", "--expires must be"],
    ["token revoke", "NAME|ID is needed."],
    ["token revoke nobody --database FILE", "Run this where the service runs, or name it with --database", 1],
    ["token list --database FILE", "There is no data file at", 1],
    ["audit --limit 0", "--limit must be"],
    ["ready --url http://me:secret@127.0.0.1:1", "--url must be an http or https URL"],
    // An address reserved for documentation, so that no machine has it.
    ["serve --listen 192.0.2.1:3000 --database FILE", "must be an address of this machine", 1],
  ])("is told what is wrong: %s", async (line, said, code = 2) => {
    const file = folder.newPath();
    const result = await runInProcess(line.replace("FILE", file).split(" "));
    expect(result.code).toBe(code);
    expect(result.out).toBe("");
    expect(result.err).toContain(said);
    expect(result.err).toStartWith("plant-store: ");
    expect(result.err).not.toContain("secret");
  });

  test.each([
    ["improt plants.csv", "Did you mean import?"],
    ["tokens create", "Did you mean token?"],
    ["token crate", "Did you mean token create?"],
    ["list --datbase plants.db", "Did you mean --database?"],
    ["list -json", "Did you mean --json?"],
    ["serve --port 3000", "Did you mean --listen 127.0.0.1:3000?"],
    ["serve --port=3000", "Did you mean --listen 127.0.0.1:3000?"],
    ["serve --port", "Did you mean --listen 127.0.0.1:PORT?"],
    ["serve --port secret", "Did you mean --listen 127.0.0.1:PORT?"],
  ])("is told what was probably meant: %s", async (line, suggestion) => {
    const { code, err } = await runInProcess(line.split(" "));
    expect(code).toBe(2);
    expect(err).toContain(`. ${suggestion} See plant-store `);
    expect(err).not.toContain("secret");
  });

  test("is told what is wrong with the name of a token", async () => {
    const database = ["--database", folder.newPath()];
    await runInProcess(["token", "create", "--name", "somebody", ...database]);
    const wrong = [
      ["revoke nobody", 'No live token has the name or id "nobody"'],
      ["rotate nobody", 'No live token has the name or id "nobody"'],
      ["create --name somebody", "rotate or revoke"],
      ["create --name=green\u2028house", "Use letters (all Latin or none)"],
    ] as const;
    for (const [line, said] of wrong) {
      const { code, err } = await runInProcess(["token", ...line.split(" "), ...database]);
      expect(code).toBe(1);
      expect(err).toContain(said);
    }
  });

  test.each(["serve", "token create --name a", "list", "verify"])(
    "%s refuses a folder as the data file",
    async (line) => {
      using data = temporaryFolder();
      const { code, out, err } = await runInProcess([...line.split(" "), "--database", data.path]);
      expect(code).toBe(1);
      expect(out).toBe("");
      expect(err).toBe(
        `plant-store: ${data.path} is a folder; name a file in it, such as ${data.path}/plant-store.db.\n`,
      );
      expect(readdirSync(data.path)).toEqual([]);
    },
  );
});

test("an empty argument, such as a quoted variable that is not set, is ignored", async () => {
  const { code, err } = await runInProcess(["version", ""]);
  expect(err).toBe("");
  expect(code).toBe(0);
  const misused = await runInProcess(["version", "", "nonsense"]);
  expect(misused.err).toContain('Unexpected argument "nonsense". See plant-store version --help.');
  expect(misused.out).toBe("");
  expect(misused.code).toBe(2);
});
