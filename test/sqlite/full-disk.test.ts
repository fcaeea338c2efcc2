// No space is left: the disk is full until there is some again, or a file may not grow any more.
import { expect, test } from "bun:test";
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shellArguments, start, unshareArguments, untilListening } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { lacksMounts } from "../support/lacks.ts";
import { openAsNextStart } from "../support/next-start.ts";
import { createUntilRefused, largeName, post, statusOf } from "../support/post-plants.ts";
import { missingIn } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

test.skipIf(lacksMounts())(
  "a full disk refuses plants until there is space again, without a restart or a loss",
  async () => {
    const plantsBefore = 400;
    const leftBytes = 700_000;
    using folder = temporaryFolder();
    const disk = join(folder.path, "disk");
    mkdirSync(disk);
    const script = `mount -t tmpfs -o size=80m none ${disk} && exec "$@"`;
    const shell = unshareArguments(script, ["serve", "--database", `${disk}/plants.db`]);
    await using service = await untilListening(
      start("unshare", shell, { environment: accessTokenEnvironment }),
    );
    const { url, child, err } = service;
    const acknowledged: number[] = [];
    const plantOf = (id: number) => JSON.stringify({ id, name: largeName });
    let id = 0;
    /** Creates a plant with a new id, and returns the status of the response. */
    async function create(): Promise<number> {
      id++;
      const { status } = await post(url, plantOf(id));
      if (status === 200) acknowledged.push(id);
      return status;
    }
    for (let plants = 0; plants < plantsBefore; plants++) expect(await create()).toBe(200);

    // Only the service's own mount namespace has the disk.
    const seen = `/proc/${child.pid}/root${disk}`;
    const filler = join(seen, "filler");
    const { bavail, bsize } = statfsSync(seen);
    try {
      writeFileSync(filler, Buffer.alloc(bavail * bsize - leftBytes));
    } catch (error) {
      // A checkpoint still wrote, and less was left.
      expect(error).toMatchObject({ code: "ENOSPC" });
    }
    let refusal = 200;
    while (refusal === 200) refusal = await create();
    expect(refusal).toBe(503);
    // At once: a checkpoint may make space, and then the service is ready again.
    expect(await statusOf(url, "/readyz")).toBe(503);
    expect(await statusOf(url, "/livez")).toBe(200);
    await eventually(() => err().includes("The disk is full"));

    rmSync(filler);
    await eventually(async () => (await statusOf(url, "/readyz")) === 200);
    expect(await create()).toBe(200);
    expect(child.exitCode).toBeNull();
    for (const stored of acknowledged)
      expect((await post(url, plantOf(stored))).headers.get("idempotent-replayed")).toBe("true");
  },
);

test("a limit of the file size, which SQLite reports like an I/O error, ends the service without a loss", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "plants.db");
  // In units of 512 bytes: about sixty of these plants fit into the WAL.
  const shell = shellArguments('ulimit -f 8000; exec "$@"', ["serve", "--database", file]);
  await using service = await untilListening(start("sh", shell, { environment: accessTokenEnvironment }));
  const { acknowledged, refusals } = createUntilRefused(service.url, largeName);
  for (const error of await refusals) expect(error).toBeOneOf([0, 50302]);
  expect(acknowledged.length).toBeGreaterThan(0);
  const { code, err } = await service.ended;
  expect(code).toBe(1);
  expect(err).toContain("Writing failed: SQLITE_IOERR_WRITE.");
  expect(openAsNextStart(file)).toEqual({ rebuilt: true });
  expect(missingIn(file, acknowledged)).toEqual([]);
});
