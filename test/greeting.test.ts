import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { executable, plantStore, serve } from "./command.ts";
import { eventually, temporaryFolder } from "./harness.ts";

async function greetingOf(args: readonly string[], ending: string, folder?: string): Promise<string> {
  await using service = await serve(args, folder === undefined ? {} : { folder });
  await eventually(() => service.out().includes(ending));
  return service.out();
}

test("the greeting offers a command that, pasted, creates a token in this data file", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "it's here.db");
  await plantStore(["token", "create", "--name", "a", "--database", file]);
  for (const cwd of [folder.path, join(import.meta.dir, "..")]) {
    const greeting = await greetingOf(["--database", file], "NAME", cwd);
    const offered = /\nTo create another token: (.+)\n\n$/.exec(greeting)?.[1] ?? "";
    expect(offered).toStartWith(executable === undefined ? "node " : "plant-store ");
    const command = offered.replace("NAME", cwd.length.toString()).replace(/^plant-store/, executable ?? "");
    const { status, stdout } = spawnSync("sh", ["-c", command], { cwd, encoding: "utf8" });
    expect([status, stdout]).toEqual([0, expect.stringMatching(/^pst_\w{49}\n$/)]);
  }
  const { out } = await plantStore(["token", "list", "--json", "--database", file]);
  expect(JSON.parse(out)).toHaveLength(3);
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
  expect(greeting).toContain("\nYour first token can send plants. It is in this file.");
  expect(greeting).not.toContain("console");
});
