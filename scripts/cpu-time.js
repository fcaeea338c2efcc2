// The CPU time of this process and all that it starts, also of those that outlive their parents: by a cgroup where that is allowed.
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Starts to measure. Returns a function that ends it, and returns the seconds. */
export function measureCpuTime() {
  try {
    return inGroup();
  } catch {
    return () => ofWaitedFor();
  }
}

function inGroup() {
  const groups = readFileSync("/proc/self/cgroup", "utf8");
  const v1 = /^\d+:cpuacct:(.*)$/m.exec(groups)?.[1];
  const parent =
    v1 === undefined
      ? join("/sys/fs/cgroup", /^0::(.*)$/m.exec(groups)?.[1] ?? "")
      : join("/sys/fs/cgroup/cpuacct", v1);
  const group = join(parent, `cpu-time-${process.pid}`);
  mkdirSync(group);
  writeFileSync(join(group, "cgroup.procs"), String(process.pid));
  return () => {
    const seconds =
      v1 === undefined
        ? Number(/usage_usec (\d+)/.exec(readFileSync(join(group, "cpu.stat"), "utf8"))?.[1]) / 1e6
        : Number(readFileSync(join(group, "cpuacct.usage"), "utf8")) / 1e9;
    writeFileSync(join(parent, "cgroup.procs"), String(process.pid));
    rmdirSync(group);
    return seconds;
  };
}

// Linux counts in hundredths of a second: user and system, our own and that of children that have ended.
function ofWaitedFor() {
  const fields = readFileSync("/proc/self/stat", "utf8").split(") ")[1].split(" ");
  return fields.slice(11, 15).reduce((sum, field) => sum + Number(field) / 100, 0);
}
