import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { join } from "node:path";
import { verify } from "../../src/storage/sqlite/maintenance/verify.ts";
import { plantStore, serve } from "../command.ts";
import { accessToken, eventually, post, storedPlants, temporaryFolder } from "../harness.ts";

const environment = { PLANT_STORE_ACCESS_TOKEN: accessToken };
// Past the 4000 frames at which the service checkpoints too. Long names fill them with few plants.
const framesMax = "5000";
const name = "Fern ".repeat(8000);
const other = join(import.meta.dir, "../fixtures/checkpointing-reader.ts");

test("nothing is lost while another process holds a read transaction and checkpoints, through load, a kill and a stop", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "plants.db");
  let next = 0;
  const send = async (url: string, count: number) => {
    const statuses = new Set<number>();
    for (let sent = 0; sent < count; sent += 20) {
      const batch = Array.from({ length: 20 }, () => post(url, `{"id":${++next},"name":"${name}"}`));
      for (const { status } of await Promise.all(batch)) statuses.add(status);
    }
    return [...statuses];
  };
  let first = await serve(["--database", file], { environment });
  const reader = Bun.spawn([process.execPath, other, file, framesMax], { stdout: "pipe" });
  let said = "";
  const printed = (async () => {
    for await (const chunk of reader.stdout) said += Buffer.from(chunk).toString();
  })();
  try {
    await eventually(() => said.includes("holding"));
    expect(await send(first.url, 540)).toEqual([200]);
    first.child.kill("SIGKILL");
    await first.ended();
    first = await serve(["--database", file], { environment });
    expect(first.err()).toContain("another process has the data file open");
    expect(await send(first.url, 100)).toEqual([200]);
    expect((await plantStore(["backup", join(folder.path, "backup.db"), "--database", file])).code).toBe(0);
    first.child.kill("SIGTERM");
    expect((await first.ended()).code).toBe(0);
  } finally {
    await first[Symbol.asyncDispose]();
    reader.kill("SIGTERM");
    await reader.exited;
    await printed;
  }
  const { checkpoints, restartedByOthers } = JSON.parse(said.split("\n")[1] ?? "");
  expect(checkpoints).toBeGreaterThan(0);
  expect(restartedByOthers).toBe(0);
  expect(storedPlants(file)).toHaveLength(next);
  expect(await verify(file, () => {})).toMatchObject({ plants: next, problems: [] });
  using backup = new Database(join(folder.path, "backup.db"));
  expect(backup.query("SELECT count(*) AS plants FROM plants").get()).toEqual({ plants: next });
});
