// The commands backup and restore: what they write, what they overwrite, and which errors they report.
import { afterAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plantStore } from "../support/command.ts";
import { post } from "../support/post-plants.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";

// A store that runs. Tests only read it; one that creates plants has a service of its own.
const service = await startTestService();
await post(service.url, '{"id":1,"name":"Fern"}');
afterAll(() => service[Symbol.asyncDispose]());

/** Runs a command on the data file of that service, or on another one. */
const run = (args: readonly string[], database = service.database) =>
  runInProcess([...args, "--database", database]);

test("a restored backup of a store in use has every plant acknowledged before it", async () => {
  using folder = temporaryFolder();
  await using busy = await startTestService({ database: join(folder.path, "plants.db") });
  for (let id = 1; id <= 3; id++) await post(busy.url, JSON.stringify({ id, name: "Fern" }));
  const before = storedPlants(busy.database);

  // A backup is made while someone creates plants.
  let isWriting = true;
  const writer = (async () => {
    for (let id = 100; isWriting; id++) await post(busy.url, JSON.stringify({ id, name: "n".repeat(500) }));
  })();
  const backup = join(folder.path, "backup.db");
  const { code, err } = await plantStore(["backup", backup, "--database", busy.database]);
  isWriting = false;
  await writer;
  expect(code).toBe(0);
  const count = storedPlants(backup).length.toLocaleString("en");
  expect(err).toContain(`Backed up and checked ${count} plants: `);
  expect(statSync(backup).mode & 0o777).toBe(0o600);

  // It is restored elsewhere, beside an empty WAL, such as a command that reads leaves, and not over what is there.
  const restored = join(folder.path, "restored.db");
  writeFileSync(`${restored}-wal`, "");
  expect((await run(["restore", backup], restored)).code).toBe(0);
  expect(storedPlants(restored)).toEqual(expect.arrayContaining(before));
  expect((await run(["verify"], restored)).err).toContain("no damage found");
  const again = await run(["restore", backup], restored);
  expect(again).toMatchObject({ code: 1, err: expect.stringContaining("already exists") });
});

const linkTo = (name: string) => (folder: string, path: string) => symlinkSync(join(folder, name), path);
const writeFile = (_: string, path: string) => writeFileSync(path, "precious");
test.each([
  ["a.db", "a link to a file", linkTo("precious")],
  ["a.db", "a link to nothing", linkTo("nothing")],
  ["a.db", "a file", writeFile],
  ["a.db.sha256", "a link to a file", linkTo("precious")],
  ["a.db.sha256", "a link to nothing", linkTo("nothing")],
  ["a.db.sha256", "a file", writeFile],
])("a backup overwrites nothing if %s is %s", async (name, _, make) => {
  using folder = temporaryFolder();
  const inTheWay = join(folder.path, name);
  writeFileSync(join(folder.path, "precious"), "precious");
  make(folder.path, inTheWay);
  const { code, err } = await run(["backup", join(folder.path, "a.db")]);
  expect(code).toBe(1);
  expect(err).toContain(`${name} `);
  if (existsSync(inTheWay)) expect(readFileSync(inTheWay, "utf8")).toBe("precious");
  rmSync(inTheWay);
  expect(readdirSync(folder.path)).toEqual(["precious"]);
  expect(readFileSync(join(folder.path, "precious"), "utf8")).toBe("precious");
});
