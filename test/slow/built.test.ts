// The single executable passes the tests of the commands and the service, and needs no other file.
import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { outputOf } from "../../scripts/processes.js";
import { minuteMs } from "../../src/text/duration.ts";
import { executable, serve } from "../support/command.ts";
import { runNested } from "../support/nested-run.ts";
import { post, statusOf } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

// Those whose services and commands are separate processes.
const suites = [
  "command-line/commands",
  "command-line/config",
  "command-line/help",
  "command-line/import",
  "command-line/misuse",
  "command-line/ready",
  "sqlite/failing-fsyncs",
  "sqlite/full-disk",
  "sqlite/killed",
  "sqlite/stalled-disk",
  "sqlite/what-is-synced",
];
const buildMsMax = 10 * minuteMs;

// The first run builds the executable, and starts a second one, in which `executable` names it.
if (executable === undefined)
  test(
    "a service and its commands pass the same tests as a single executable",
    () => {
      const root = join(import.meta.dir, "../..");
      outputOf("node", ["scripts/with-bun.js", "scripts/build.ts"], root);
      const files = suites.map((name) => `./test/${name}.test.ts`);
      const environment = {
        PLANT_STORE_TEST_EXECUTABLE: join(root, "dist/plant-store"),
        PLANT_STORE_TEST_ENGINES: "sqlite",
      };
      expect(runNested(["./test/slow/built.test.ts", ...files], environment)).toBe("");
    },
    buildMsMax,
  );
const testBuilt = executable === undefined ? () => {} : test;

testBuilt("the executable needs no other file in an empty folder", async () => {
  using folder = temporaryFolder();
  {
    await using service = await serve([], { folder: folder.path, environment: accessTokenEnvironment });
    expect((await post(service.url, '{"id":1,"name":"fern"}')).status).toBe(200);
    for (const path of ["/docs", "/openapi.json", "/readyz"])
      expect(await statusOf(service.url, path)).toBe(200);
    expect(await (await fetch(service.operatorUrl)).text()).toContain("<script");
  }
  expect(readdirSync(folder.path)).toEqual(["data"]);
});

testBuilt("the bill of materials and the checksums are beside the executable", () => {
  const folder = dirname(executable ?? "");
  const bill = JSON.parse(readFileSync(`${executable}.cdx.json`, "utf8"));
  const names = bill.components.map(({ name }: { name: string }) => name);
  // From the service, a thread and the console.
  expect(names).toEqual(expect.arrayContaining(["pg", "jose", "preact"]));
  expect(names.filter((name: string) => name.startsWith("bun-"))).toHaveLength(1);
  // Some are optional to npm, but in the file.
  for (const { scope } of bill.components) expect(scope).toBe("required");
  const sums = readFileSync(join(folder, "SHA256SUMS"), "utf8").trim().split("\n");
  for (const file of ["plant-store", "plant-store.cdx.json", "plant-store.licences.txt"]) {
    const sum = new Bun.CryptoHasher("sha256").update(readFileSync(join(folder, file))).digest("hex");
    expect(sums).toContain(`${sum}  ${file}`);
  }
});
