// npm start is stopped as cleanly as the service itself, whichever process gets the signal.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { start, untilListening } from "../support/command.ts";
import { statusOf } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const root = join(import.meta.dir, "../..");

// Docker, a supervisor or `kill` signal only npm; Ctrl-C signals npm and its descendants.
test.each([
  ["SIGTERM to npm alone", "SIGTERM", false],
  ["Ctrl-C", "SIGINT", true],
] as const)("npm start is stopped cleanly by %s", async (_, signal, toGroup) => {
  using folder = temporaryFolder();
  await using npm = await untilListening(
    start("npm", ["start"], {
      folder: root,
      ownGroup: true,
      environment: {
        PLANT_STORE_DATABASE: join(folder.path, "plants.db"),
        npm_config_update_notifier: "false",
      },
    }),
  );
  const pid = npm.child.pid ?? 0;
  expect(await statusOf(npm.url, "/livez")).toBe(200);
  const exited = new Promise((resolve) => npm.child.on("exit", resolve));
  process.kill(toGroup ? -pid : pid, signal);
  // npm exits only after the service, so that a supervisor that waits for npm can shut the machine down.
  await exited;
  await expect(fetch(`${npm.url}/livez`)).rejects.toThrow();
  const { code, err } = await npm.ended;
  expect(code).toBe(0);
  expect(err).toContain("stopped; every acknowledged plant is on disk");
});
