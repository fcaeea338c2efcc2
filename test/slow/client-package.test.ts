import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import packageFile from "../../package.json" with { type: "json" };
import { start, watch } from "../command.ts";
import { accessToken, startTestService, storedPlants, temporaryFolder } from "../harness.ts";

const root = join(import.meta.dir, "../..");
const int64 = fc.oneof(
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
  fc.constantFrom(-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n, 2n ** 53n + 1n, -(2n ** 53n) - 1n, 0n, -1n),
);

// A project of someone else's, with the packed library as its only dependency.
const project = temporaryFolder();
afterAll(() => project[Symbol.dispose]());
const installed = join(project.path, "node_modules/plant-store-client");

function run([command = "", ...args]: readonly string[], folder = root) {
  return watch(start(command, args, { folder })).ended;
}

beforeAll(async () => {
  const pack = ["npm", "pack", "--silent", "--pack-destination", project.path];
  const packed = await run([...pack, "./packages/client"]);
  expect(packed.code).toBe(0);
  mkdirSync(installed, { recursive: true });
  const archive = packed.out.trim().split("\n").at(-1) ?? "";
  const tar = ["tar", "-xzf", join(project.path, archive), "--strip-components=1", "-C", installed];
  expect(await run(tar)).toEqual({ code: 0, out: "", err: "" });
  copyFileSync(join(root, "test/slow/client-scenario.js"), join(project.path, "client-scenario.mjs"));
}, 60_000);

for (const [runtime, command] of [
  ["Node", "node"],
  ["Bun", process.execPath],
] as const) {
  test(`the packed library is exact for every int64 and has distinct errors on ${runtime}`, async () => {
    await using service = await startTestService();
    const ids = [...new Set(fc.sample(int64, 300))];
    const args = ["client-scenario.mjs", `${service.url}/`, accessToken, ...ids.map(String)];
    const { out, err } = await run([command, ...args], project.path);
    // Node would warn of a signal with more than ten listeners.
    expect(err).toBe("");
    expect(JSON.parse(out)).toEqual({
      outcomes: { created: ids.length, replayed: 2 * ids.length, refused: 0 },
      tagged: { kind: 0, error: 40020, status: 400, hasRequestId: true },
      denied: { kind: 0, error: 40102, status: 401, hasRequestId: true },
      unreachable: { kind: 1, hasRequestId: false },
      aborted: { kind: 2, hasRequestId: false },
    });
    const sorted = [...ids].sort((a, b) => (a < b ? -1 : 1));
    expect(storedPlants(service.database).map(({ id }) => id)).toEqual(sorted);
  });
}

test("the packed library needs no other package, and has the version of the service and its licence", () => {
  const { dependencies, version } = JSON.parse(readFileSync(join(installed, "package.json"), "utf8"));
  expect([dependencies, version]).toEqual([undefined, packageFile.version]);
  expect(readdirSync(installed).sort()).toEqual(["LICENSE", "README.md", "dist", "package.json"]);
  const dist = join(installed, "dist");
  const files = readdirSync(dist, { recursive: true, encoding: "utf8" });
  const imported = files
    .filter((name) => name.endsWith(".js"))
    .flatMap((name) => [...readFileSync(join(dist, name), "utf8").matchAll(/from "([^"]+)"/g)])
    .map((match) => match[1] ?? "");
  expect(imported).toContain("./errors.js");
  expect(imported.filter((path) => !/^\.{1,2}\/[\w./-]+\.js$/.test(path))).toEqual([]);
  // Only the files it uses: no tests, and none of an earlier build.
  const used = new Set(["plant-store-client.js", ...imported.map((path) => path.replace(/^\.\//, ""))]);
  expect(files.filter((name) => name.endsWith(".js")).sort()).toEqual([...used].sort());
});
