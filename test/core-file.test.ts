import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { start, watch } from "./command.ts";
import { accessToken, eventually, temporaryFolder } from "./harness.ts";
import { lacks } from "./lacks.ts";

const main = join(import.meta.dir, "../src/main.ts");
const isLinux = process.platform === "linux";

// It would hold every token and plant that was in memory.
test.skipIf(lacks("Linux", !isLinux))(
  "a crash writes no core file, even if the shell allows one",
  async () => {
    using folder = temporaryFolder();
    const command = [process.execPath, main, "serve"];
    const child = start("sh", ["-c", 'ulimit -c unlimited 2>&- ; exec "$@"', "sh", ...command], {
      folder: folder.path,
      environment: { PLANT_STORE_ACCESS_TOKEN: accessToken, PLANT_STORE_DATABASE: "plants.db" },
    });
    const said = watch(child);
    await eventually(() => said.err().includes('"listening"'));
    const limits = readFileSync(`/proc/${child.pid}/limits`, "utf8");
    child.kill("SIGABRT");
    await said.ended;
    expect(/^Max core file size +(\S+)/m.exec(limits)?.[1]).toBe("0");
    expect(readdirSync(folder.path).filter((name) => name.startsWith("core"))).toEqual([]);
  },
);
