// The systemd units of deploy/, checked by systemd itself.
import { describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lacks } from "../support/lacks.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";

const deploy = join(import.meta.dir, "../../deploy");
const services = ["plant-store.service", "plant-store-backup.service"];
const analyze = (...args: string[]) => spawnSync("systemd-analyze", args, { encoding: "utf8" });

describe.skipIf(lacks("systemd", analyze("--version").status !== 0))("the systemd units", () => {
  test.each(services)("%s leaves little exposed", (name) => {
    const { stdout } = analyze("security", "--offline=true", join(deploy, name));
    expect(Number(/Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1])).toBeLessThan(2);
  });

  test("are valid, even with the drop-in for PostgreSQL", () => {
    using folder = temporaryFolder();
    const place = (name: string) => join(folder.path, name);
    cpSync(deploy, folder.path, { recursive: true });
    // systemd-analyze insists that the program exists.
    for (const name of services) {
      const unit = readFileSync(place(name), "utf8");
      writeFileSync(place(name), unit.replaceAll(/^ExecStart=\S+/gm, `ExecStart=${process.execPath}`));
    }
    const units = [...services, "plant-store-backup.timer", "plant-store-failed@test.service"].map(place);
    const problems = () => {
      const args = ["verify", "--man=no", ...units];
      const env = { ...process.env, SYSTEMD_UNIT_PATH: `${folder.path}:` };
      const { status, stderr } = spawnSync("systemd-analyze", args, { encoding: "utf8", env });
      return [status, stderr.split("\n").filter((line) => line.includes(folder.path))];
    };
    expect(problems()).toEqual([0, []]);
    mkdirSync(place("plant-store.service.d"));
    cpSync(place("plant-store-postgres.conf"), place("plant-store.service.d/postgres.conf"));
    expect(problems()).toEqual([0, []]);
  });
});
