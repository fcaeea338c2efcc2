import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { join } from "node:path";

const unit = join(import.meta.dir, "../deploy/plant-store.service");
const exposureMax = 2;
const { status, stdout } = spawnSync("systemd-analyze", ["security", "--offline=true", unit], {
  encoding: "utf8",
});

test.skipIf(status === null)("the systemd unit leaves little exposed", () => {
  const exposure = Number(/Overall exposure level for \S+: ([\d.]+)/.exec(stdout)?.[1]);
  expect(exposure).toBeLessThan(exposureMax);
});
