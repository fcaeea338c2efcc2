import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "./harness.ts";

const deploy = join(import.meta.dir, "../deploy");
const services = ["plant-store.service", "plant-store-backup.service"];
const exposureMax = 2;
const isInstalled = spawnSync("systemd-analyze", ["--version"]).status === 0;

describe.skipIf(!isInstalled)("the systemd units", () => {
  test.each(services)("%s leaves little exposed", (name) => {
    const { stdout } = spawnSync("systemd-analyze", ["security", "--offline=true", join(deploy, name)], {
      encoding: "utf8",
    });
    const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1]);
    expect(exposure).toBeLessThan(exposureMax);
  });

  test("are valid, even with the drop-in for PostgreSQL", () => {
    using folder = temporaryFolder();
    // systemd-analyze insists that the program exists.
    for (const name of services)
      writeFileSync(
        join(folder.path, name),
        readFileSync(join(deploy, name), "utf8").replaceAll(
          /^ExecStart=\S+/gm,
          `ExecStart=${process.execPath}`,
        ),
      );
    const others = ["plant-store-backup.timer", "plant-store-failed@.service"];
    for (const name of others) copyFileSync(join(deploy, name), join(folder.path, name));
    const units = [...services, "plant-store-backup.timer", "plant-store-failed@test.service"].map((name) =>
      join(folder.path, name),
    );
    const verify = () => {
      const { status, stderr } = spawnSync("systemd-analyze", ["verify", "--man=no", ...units], {
        encoding: "utf8",
        env: { ...process.env, SYSTEMD_UNIT_PATH: `${folder.path}:` },
      });
      return [status, stderr.split("\n").filter((line) => line.includes(folder.path))];
    };
    expect(verify()).toEqual([0, []]);
    mkdirSync(join(folder.path, "plant-store.service.d"));
    copyFileSync(
      join(deploy, "plant-store-postgres.conf"),
      join(folder.path, "plant-store.service.d/postgres.conf"),
    );
    expect(verify()).toEqual([0, []]);
  });
});
