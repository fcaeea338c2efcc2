// The console and the service agree about error numbers and the types of responses.
import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
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

test.each([
  ["lastUsedAt", "tokens/token-table.tsx"],
  ["verifiedAt", "system/backups.tsx"],
])("if the service renames %s, the type check of the console fails", (field, user) => {
  using copy = copyOfSource();
  rename(join(copy.path, "src/operator"), field);
  const errors = typeErrors(copy.path, "src/console");
  expect(errors).toContain(`src/console/${user}`);
  expect(errors).toContain(`'${field}' does not exist`);
});

test("if only the route renames a field, the type check of the service fails", () => {
  using copy = copyOfSource();
  rename(join(copy.path, "src/operator/tokens.ts"), "lastUsedAt");
  // Only the part of the service that concerns it, in a third of the time.
  const project = { extends: "./tsconfig.json", include: ["src/operator/tokens.ts"] };
  writeFileSync(join(copy.path, "tsconfig.operator.json"), JSON.stringify(project));
  const errors = typeErrors(copy.path, "tsconfig.operator.json");
  expect(errors).toContain("src/operator/tokens.ts");
  expect(errors).toContain("lastUsedAt");
});

/** What `npm run check` checks the types of, in a folder of its own. */
function copyOfSource() {
  const folder = temporaryFolder();
  for (const name of ["src", "package.json", "tsconfig.json"])
    cpSync(join(root, name), join(folder.path, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder.path, "node_modules"));
  return folder;
}

/** Renames a field wherever the file, or any file of the folder, has it. */
function rename(path: string, field: string): void {
  const files = path.endsWith(".ts") ? [path] : readdirSync(path).map((name) => join(path, name));
  for (const file of files) {
    const text = readFileSync(file, "utf8");
    writeFileSync(file, text.replaceAll(new RegExp(`\\b${field}\\b`, "g"), `${field}Renamed`));
  }
}

function typeErrors(folder: string, project: string): string {
  const compiler = join(root, "node_modules/typescript/bin/tsc");
  const options = ["--project", project, "--singleThreaded", "--pretty", "false"];
  const { stdout } = spawnSync(compiler, options, { cwd: folder, encoding: "utf8" });
  return stdout;
}
