// A process ends without a stop: what it acknowledged is stored, and the next start finds the WAL.
import { expect, test } from "bun:test";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runKillRounds } from "../soak/kill.ts";
import { seededRandom } from "../soak/rounds.ts";
import { type Serving, serve } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { post } from "../support/post-plants.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const folder = useFolderForEachTest();

test("what was acknowledged is stored after a loaded service was killed with -9 again and again", async () => {
  const { acknowledged, lost } = await runKillRounds({ rounds: 3, random: seededRandom(1), tell: () => {} });
  expect(acknowledged).toBeGreaterThan(100);
  expect(lost).toBe(0);
});

test.each([
  ["a second signal", 143, async (service: Serving) => eventually(() => !service.child.kill("SIGTERM"))],
  ["an exception that nobody caught", 1, async (service: Serving) => service.child.kill("SIGUSR2")],
])("a process that ends by %s leaves the WAL for the next start", async (_, code, end) => {
  const throwing = join(folder.path, "throw-on-signal.ts");
  writeFileSync(throwing, 'process.on("SIGUSR2", () => { throw new Error("unexpected"); });');
  await using service = await serve(["--database", folder.dataFile, "--drain-delay", "60s"], {
    environment: { ...accessTokenEnvironment, BUN_OPTIONS: `--preload ${throwing}` },
  });
  expect((await post(service.url, '{"id":1,"name":"a"}')).status).toBe(200);
  await end(service);
  expect((await service.ended).code).toBe(code);
  expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);
});
