// npm start is stopped as cleanly as the service itself, whichever process gets the signal.
import { expect, test } from "bun:test";
import { join } from "node:path";
import { start, watch } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { statusOf } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const root = join(import.meta.dir, "../..");

// Docker, a supervisor or `kill` signal only npm; Ctrl-C signals npm and its descendants.
for (const [what, signal, toGroup] of [
  ["SIGTERM to npm alone", "SIGTERM", false],
  ["Ctrl-C", "SIGINT", true],
] as const) {
  test(`npm start is stopped cleanly by ${what}`, async () => {
    using folder = temporaryFolder();
    const npm = start("npm", ["start"], {
      folder: root,
      ownGroup: true,
      environment: {
        PLANT_STORE_DATABASE: join(folder.path, "plants.db"),
        npm_config_update_notifier: "false",
      },
    });
    const said = watch(npm);
    using _ = { [Symbol.dispose]: () => void killGroup(npm.pid ?? 0) };
    await eventually(() => said.err().includes('"listening"'));
    const url = /"message":"listening","url\.full":"([^"]+)"/.exec(said.err())?.[1] ?? "";
    expect(await statusOf(url, "/livez")).toBe(200);
    const exited = new Promise((resolve) => npm.on("exit", resolve));
    process.kill(toGroup ? -(npm.pid ?? 0) : (npm.pid ?? 0), signal);
    // npm exits only after the service, so that a supervisor that waits for npm can shut the machine down.
    await exited;
    await expect(fetch(`${url}/livez`)).rejects.toThrow();
    const { code, err } = await said.ended;
    expect(code).toBe(0);
    expect(err).toContain("stopped; every acknowledged plant is on disk");
  });
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // All of them have exited, as expected.
  }
}
