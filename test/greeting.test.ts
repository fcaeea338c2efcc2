import { expect, test } from "bun:test";
import { join } from "node:path";
import { executable, plantStore, serve } from "./command.ts";
import { eventually, temporaryFolder } from "./harness.ts";

const command =
  executable === undefined
    ? "npx --no plant-store token create --name NAME"
    : "plant-store token create --name NAME";

async function greetingOf(args: readonly string[], ending: string, folder?: string): Promise<string> {
  await using service = await serve(args, folder === undefined ? {} : { folder });
  await eventually(() => service.out().includes(ending));
  return service.out();
}

test("the greeting offers the command that creates a token in this data file", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "it's here.db");
  await plantStore(["token", "create", "--name", "a", "--database", file]);
  const greeting = await greetingOf(["--database", file], "NAME");
  const quoted = `'${folder.path}/it'\\''s here.db'`;
  expect(greeting).toEndWith(`\nTo create another token: ${command} --database ${quoted}\n\n`);
});

test("the greeting does not name the data file that commands use by default", async () => {
  using folder = temporaryFolder();
  await plantStore(["token", "create", "--name", "a"], { folder: folder.path });
  expect(await greetingOf([], "NAME", folder.path)).toEndWith(" token create --name NAME\n\n");
});

test("the greeting mentions no console if there is none", async () => {
  using folder = temporaryFolder();
  const args = ["--database", join(folder.path, "plants.db"), "--operator-listen", "off"];
  const greeting = await greetingOf(args, "curl");
  expect(greeting).toContain("\nYour first token can send plants. Only its owner can read it");
  expect(greeting).not.toContain("console");
});
