// A process ends without a stop: what it acknowledged is stored, and the next start finds the WAL.
import { expect, test } from "bun:test";
import { statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runKillRounds } from "../soak/kill.ts";
import { seededRandom } from "../soak/rounds.ts";
import { sendSecondSignal, serve } from "../support/command.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { post } from "../support/post-plants.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const folder = useFolderForEachTest();

test("what was acknowledged is stored after a loaded service was killed with -9 again and again", async () => {
  const { acknowledged, lost } = await runKillRounds({ rounds: 3, random: seededRandom(1), tell: () => {} });
  expect(acknowledged).toBeGreaterThan(100);
  expect(lost).toBe(0);
});

test("a process that ends by a second signal leaves the WAL for the next start", async () => {
  await using service = await serve(["--database", folder.dataFile, "--drain-delay", "60s"], {
    environment: accessTokenEnvironment,
  });
  expect((await post(service.url, '{"id":1,"name":"a"}')).status).toBe(200);
  service.child.kill("SIGTERM");
  await sendSecondSignal(service, "SIGTERM");
  expect((await service.ended).code).toBe(143);
  expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);
});

test.each([
  ["an exception that nobody caught", 'throw new Error("unexpected");'],
  ["a rejection that nobody handled", 'void Promise.reject(new Error("unexpected"));'],
])("a process that ends by %s calls it an internal error, and leaves the WAL", async (_, statement) => {
  const onSignal = join(folder.path, "on-signal.ts");
  writeFileSync(onSignal, `process.on("SIGUSR2", () => { ${statement} });`);
  await using service = await serve(["--database", folder.dataFile], {
    environment: { ...accessTokenEnvironment, BUN_OPTIONS: `--preload ${onSignal}` },
  });
  expect((await post(service.url, '{"id":1,"name":"a"}')).status).toBe(200);
  service.child.kill("SIGUSR2");
  const { code, err } = await service.ended;
  expect(code).toBe(1);
  expect(err).toMatch(/^plant-store: Internal error, please report it: Error: unexpected\n {4}at /m);
  expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);
});
