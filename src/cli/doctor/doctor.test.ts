import { describe, expect, test } from "bun:test";
import { checkFilesystem } from "./check-folder.ts";
import { judgeFsync, type SyncConditions } from "./check-fsync.ts";
import { findingsDocument, findingsOf, formatFindings } from "./finding.ts";
import { findMount } from "./mounts.ts";

const table = [
  "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw",
  "30 22 0:40 / /srv rw - nfs4 server:/export rw,vers=4.2",
  "31 22 8:17 / /srv/my\\040disk rw,noatime shared:2 master:1 - xfs /dev/sdb1 rw,nobarrier",
  "32 22 0:41 / /memory rw - tmpfs tmpfs rw,size=100k",
  "33 22 0:42 / /container rw - overlay overlay rw,lowerdir=/a",
  "34 22 0:43 / /remote rw - fuse.sshfs me@there rw",
].join("\n");

describe("the filesystem of a folder", () => {
  test("is that of the deepest mount, whatever its name contains", () => {
    expect(findMount("/srv/my disk/data", table)).toMatchObject({ type: "xfs", device: "8:17" });
    expect(findMount("/srv/my", table)?.type).toBe("nfs4");
    expect(findMount("/srvother", table)?.type).toBe("ext4");
    expect(findMount("/x", "")).toBeUndefined();
  });

  const cases: [folder: string, outcome: string, said: string][] = [
    ["/home", "ok", "ext4 at /"],
    ["/srv", "warn", "network filesystem"],
    ["/remote", "warn", "network filesystem"],
    ["/memory", "warn", "in memory"],
    ["/container", "warn", "container's writable layer"],
    ["/srv/my disk", "fail", "mounted with nobarrier"],
  ];
  for (const [folder, outcome, said] of cases) {
    test(`is judged: ${folder} is ${outcome}`, () => {
      const finding = checkFilesystem(folder, findMount(folder, table));
      expect(finding).toMatchObject({ outcome, message: expect.stringContaining(said) });
    });
  }
});

describe("the speed of an fsync", () => {
  const disk: SyncConditions = {
    filesystem: "ext4",
    preloaded: undefined,
    rotating: false,
    virtualMachine: undefined,
  };
  const judge = (medianMs: number, known: Partial<SyncConditions> = {}) =>
    judgeFsync({ count: 200, medianMs, p99Ms: medianMs * 2 }, { ...disk, ...known });

  test("is trusted if a device can be that fast", () => {
    expect(judge(1.25)).toEqual(findingsOf("fsync").ok("median 1.3 ms, p99 2.5 ms, of 200"));
    expect(judge(8, { rotating: true }).outcome).toBe("ok");
  });

  test("is not trusted if it is too fast, even less on a rotating disk", () => {
    expect(judge(0.02)).toMatchObject({
      outcome: "warn",
      message: expect.stringContaining("faster than most devices can flush"),
      advice: expect.stringContaining("volatile write cache"),
    });
    expect(judge(0.9, { rotating: true }).message).toContain("faster than a rotating disk can flush");
    expect(judge(0.9).outcome).toBe("ok");
  });

  test("is not trusted in a virtual machine, in memory, or if a library turns it off", () => {
    expect(judge(1, { virtualMachine: "QEMU" }).message).toContain("QEMU is a virtual machine");
    expect(judge(0.02, { virtualMachine: "QEMU" }).advice).toContain("cache=unsafe");
    expect(judge(1, { filesystem: "tmpfs" }).message).toContain("on tmpfs an fsync does nothing");
    expect(judge(1, { preloaded: "libeatmydata.so" })).toMatchObject({
      outcome: "fail",
      message: expect.stringContaining("libeatmydata.so is preloaded"),
    });
  });

  test("is a warning if it is slow", () => {
    expect(judge(40)).toMatchObject({ outcome: "warn", message: expect.stringContaining("slow") });
  });
});

test("findings are lines with their mark, coloured on a terminal only, then advice", () => {
  const findings = [findingsOf("runtime").ok("Bun"), findingsOf("clock").warn("wrong", "Set it.")];
  expect(formatFindings(findings, false)).toBe(
    "ok    runtime  Bun\nwarn  clock    wrong\n\nWhat to do:\n  warn clock: Set it.\n",
  );
  expect(formatFindings(findings, true)).toContain("\u001b[33mwarn\u001b[0m  clock");
  expect(findingsDocument(findings)).toMatchObject({ result: "warn", findings: [{ advice: null }, {}] });
});
