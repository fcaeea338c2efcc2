// The console and the service agree about error numbers and the types of responses.
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { errorNumbers } from "../../src/console/error-numbers.ts";
import { catalogue } from "../../src/http/error-catalogue.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const root = join(import.meta.dir, "../..");

test("the console has the numbers of the catalogue", () => {
  const kinds = Object.keys(errorNumbers) as (keyof typeof errorNumbers)[];
  const catalogued = kinds.map((kind) => [kind, catalogue[kind].error]);
  expect(Object.fromEntries(catalogued)).toEqual(errorNumbers);
});

test("if a field of a response is renamed, the type checks of the console and of its route fail", () => {
  using copy = temporaryFolder();
  for (const name of ["src", "package.json", "tsconfig.json"])
    cpSync(join(root, name), join(copy.path, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(copy.path, "node_modules"));
  const responses = join(copy.path, "src/operator/responses.ts");
  const text = readFileSync(responses, "utf8");
  writeFileSync(responses, text.replaceAll(/\b(lastUsedAt|restoreCommand)\b/g, "$1Renamed"));
  // Only the part of the service that concerns it, in a third of the time.
  const project = { extends: "./tsconfig.json", include: ["src/operator/tokens.ts"] };
  writeFileSync(join(copy.path, "tsconfig.operator.json"), JSON.stringify(project));

  const inConsole = typeErrors(copy.path, "src/console");
  expect(inConsole).toMatch(/src\/console\/tokens\/token-table\.tsx.*'lastUsedAt' does not exist/);
  expect(inConsole).toMatch(/src\/console\/system\/backups\.tsx.*'restoreCommand' does not exist/);
  expect(typeErrors(copy.path, "tsconfig.operator.json")).toMatch(/src\/operator\/tokens\.ts.*lastUsedAt/);
});

function typeErrors(folder: string, project: string): string {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const options = ["--project", project, "--singleThreaded", "--pretty", "false"];
  const { stdout } = spawnSync(compiler, options, { cwd: folder, encoding: "utf8" });
  return stdout;
}
