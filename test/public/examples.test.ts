// Every file of examples/ runs, with the command in its first line.
import { afterAll, expect, test } from "bun:test";
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import packageFile from "../../package.json" with { type: "json" };
import { start } from "../support/command.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { startTestService } from "../support/test-service.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const root = join(import.meta.dir, "../..");
const service = await startTestService();

// A project with the examples and the client library, bundled here: the slow tests run the one that is packed.
const project = temporaryFolder();
const library = join(project.path, "node_modules/plant-store");
mkdirSync(library, { recursive: true });
cpSync(join(root, "examples"), join(project.path, "examples"), { recursive: true });
const built = await Bun.build({
  entrypoints: [join(root, "src/client/plant-store-client.ts")],
  target: "node",
});
writeFileSync(join(library, "client.js"), (await built.outputs[0]?.text()) ?? "");
const manifest = { name: packageFile.name, type: "module", exports: { "./client": "./client.js" } };
writeFileSync(join(library, "package.json"), JSON.stringify(manifest));
writeFileSync(join(project.path, "package.json"), '{"type":"module"}');

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  project[Symbol.dispose]();
});

// The folders have those in other languages, which are slow tests.
const said: Record<string, RegExp> = {
  "many-plants.js": /^250 created, 0 replayed\n(?:.*\n)*1000 created, 0 replayed\n$/,
  "one-plant.js": /^Fern is stored\.\n$/,
  "one-plant.sh": /^\{"name":"Moss"\}$/,
  "refusals.js":
    /^refused with 40020: The id 1 .*\nunreachable: .*\naborted; sending it again would be safe\n$/,
};

test("every example is run here", () => {
  const files = readdirSync(join(root, "examples"), { withFileTypes: true }).filter((one) => one.isFile());
  expect(files.map(({ name }) => name).sort()).toEqual(Object.keys(said));
});

test.each(Object.entries(said))("%s runs with the command in its first line", async (name, answer) => {
  const [opening = ""] = readFileSync(join(root, "examples", name), "utf8").split("\n");
  const command = /PLANT_STORE_ACCESS_TOKEN=pst_… (.*)$/.exec(opening)?.[1] ?? "none";
  expect(command).toContain(`examples/${name} http://127.0.0.1:3000`);
  const [program = "", ...args] = command.replace("http://127.0.0.1:3000", service.url).split(" ");
  const { code, out, err } = await start(program, args, {
    environment: accessTokenEnvironment,
    folder: project.path,
  }).ended;
  expect(code).toBe(0);
  expect(err).toBe("");
  expect(out).toMatch(answer);
});
