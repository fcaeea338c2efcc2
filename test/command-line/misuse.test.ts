// What a command says that cannot run as it was written: unknown words and flags, wrong values, and what was probably meant.
import { afterAll, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

// FILE stands for a data file that does not exist, FOLDER for a folder.
test.each<[line: string, said: string, code?: number]>([
  ["constructor", 'Unknown command "constructor". See plant-store --help.'],
  ["improt plants.csv", 'Unknown command "improt". Did you mean import? See plant-store --help.'],
  [
    "token",
    'Unknown command "token". Did you mean token create, token list, token rotate or token revoke? See',
  ],
  ["token crate", "Did you mean token create? See plant-store --help."],
  ["--listen :0", "Put a command before --listen, such as serve."],
  ["--database=postgres://me:secret@x list", "Put a command before --database,"],
  ["list --photosynthesis=secret", "Unknown flag --photosynthesis. See plant-store list --help."],
  [
    "list --datbase plants.db",
    "Unknown flag --datbase. Did you mean --database? See plant-store list --help.",
  ],
  ["list -json", "Unknown flag -json. Did you mean --json? See"],
  ["list -x", "Unknown flag -x. See plant-store list --help."],
  ["list --port 3000", "Unknown flag --port. See plant-store list --help."],
  ["serve --port 3000", "Did you mean --listen HOST:PORT? See plant-store serve --help."],
  ["serve --port=3000", "Did you mean --listen HOST:PORT? See"],
  ["serve --listen 80", ', but is "80". See plant-store serve --help.'],
  ["serve --quiet", "Unknown flag --quiet. See plant-store serve --help."],
  // An address reserved for documentation, so that no machine has it.
  ["serve --listen 192.0.2.1:3000 --database FILE", "must be an address of this machine", 1],
  ["import a.csv --token secret", "Unknown flag --token; set the environment variable PLANT_STORE_ACCESS_"],
  ["audit --token secret", "Unknown flag --token. See plant-store audit --help."],
  ["list --limit", "--limit needs a value. See plant-store list --help."],
  ["list --limit --json", "--limit needs a value. See plant-store list --help."],
  ["list --limit -5", '--limit must be an integer from 1 to 100000, but is "-5". See plant-store list'],
  ["list --json=yes", "--json takes no value. See plant-store list --help."],
  ["list --since soon", "--since must be a time, such as 2026-11-15T09:30Z, or how long ago it is"],
  ["list --tag a --tag b", "--tag can be given only once. See plant-store list --help."],
  ["list x", 'Unexpected argument "x". See plant-store list --help.'],
  ["copy postgres://me:secret@x/plants", 'Unexpected argument "postgres://me:***@x/plants". See'],
  ["show", "ID is needed. See plant-store show --help."],
  ["show 1.5", 'ID must be an integer, but is "1.5"'],
  ["show 9223372036854775808", "ID must be an integer from -9223372036854775808 to 9223372036854775807, but"],
  ["export --format xml", "--format must be ndjson, json, csv or csv-safe"],
  ["token create", "--name is needed. See plant-store token create --help."],
  ["token create --name=", "--name must be a name, such as greenhouse, but is"],
  ["token create --name x --scope all", '"all"'],
  ["token create --name x --expires -1d", "--expires must be"],
  ["token revoke", "NAME|ID is needed."],
  ["token revoke nobody --database FILE", "Run this where the service runs, or name it with --database", 1],
  ["ready --url http://me:secret@127.0.0.1:1", "--url must be an http or https URL"],
  // An empty argument, such as a quoted variable that is not set, is ignored.
  ["version  nonsense", 'Unexpected argument "nonsense". See plant-store version --help.'],
  ["serve --database FOLDER", "FOLDER is a folder; name a file in it, such as FOLDER/plant-store.db.", 1],
  ["token create --name a --database FOLDER", "FOLDER is a folder; name a file in it", 1],
  ["list --database FOLDER", "FOLDER is a folder; name a file in it", 1],
  ["verify --database FOLDER", "FOLDER is a folder; name a file in it", 1],
])("a command that is misused is told what is wrong: %s", async (line, said, code = 2) => {
  using empty = temporaryFolder();
  const named = (text: string) => text.replace("FILE", folder.newPath()).replaceAll("FOLDER", empty.path);
  const result = await runInProcess(named(line).split(" "));
  expect(result.code).toBe(code);
  expect(result.out).toBe("");
  expect(result.err).toContain(named(said));
  expect(result.err).toStartWith("plant-store: ");
  expect(result.err).not.toContain("secret");
  expect(readdirSync(empty.path)).toEqual([]);
});

test("a command is told what is wrong with the name of a token", async () => {
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
