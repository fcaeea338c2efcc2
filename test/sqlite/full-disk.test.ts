// No space is left: the disk is full until there is some again, or a file may not grow any more.
import { afterAll, describe, expect, test } from "bun:test";
import { mkdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { shellArguments, start, unshareArguments, untilListening } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { lacksMounts } from "../support/lacks.ts";
import { memoize } from "../support/memoize.ts";
import { openAsNextStart } from "../support/next-start.ts";
import { createUntilRefused, largeName, post, statusOf } from "../support/post-plants.ts";
import { missingIn } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

describe.skipIf(lacksMounts())("a full disk", () => {
  const plantsBefore = 400;
  const leftBytes = 700_000;

  const disks = new AsyncDisposableStack();
  afterAll(() => disks.disposeAsync());
  const fullDisk = memoize(async () => {
    const disk = disks.use(await fillDisk());
    // At once: a checkpoint may make space, and then the service is ready again.
    const ready = await statusOf(disk.url, "/readyz");
    const live = await statusOf(disk.url, "/livez");
    return { ...disk, ready, live };
  });
  /** Another one, on which there is space again. */
  const freedDisk = memoize(async () => {
    const disk = disks.use(await fillDisk());
    await disk.freeSpace();
    return disk;
  });

  test("refuses plants", async () => {
    const { refusal } = await fullDisk();
    expect(refusal).toBe(503);
  });

  test("leaves the service live and not ready", async () => {
    const { ready, live } = await fullDisk();
    expect(ready).toBe(503);
    expect(live).toBe(200);
  });

  test("is logged", async () => {
    const { err } = await fullDisk();
    await eventually(() => err().includes("The disk is full"));
  });

  test("stores plants again without a restart once there is space", async () => {
    const disk = await freedDisk();
    expect(await disk.create()).toBe(200);
    expect(disk.child.exitCode).toBeNull();
  });

  test("loses no plant that was acknowledged", async () => {
    const disk = await freedDisk();
    expect(await disk.create()).toBe(200);
    expect(disk.acknowledged.length).toBeGreaterThan(plantsBefore);
    for (const id of disk.acknowledged)
      expect((await post(disk.url, plantOf(id))).headers.get("idempotent-replayed")).toBe("true");
  });

  function plantOf(id: number): string {
    return JSON.stringify({ id, name: largeName });
  }

  /** A service on a disk of its own, on which plants were created until the first was refused. */
  async function fillDisk() {
    await using cleanUp = new AsyncDisposableStack();
    const disk = join(cleanUp.use(temporaryFolder()).path, "disk");
    mkdirSync(disk);
    const script = `mount -t tmpfs -o size=80m none ${disk} && exec "$@"`;
    const shell = unshareArguments(script, ["serve", "--database", `${disk}/plants.db`]);
    const service = cleanUp.use(
      await untilListening(start("unshare", shell, { environment: accessTokenEnvironment })),
    );
    const { url, child, err } = service;
    const acknowledged: number[] = [];
    let id = 0;
    const create = async (): Promise<number> => {
      id++;
      const { status } = await post(url, plantOf(id));
      if (status === 200) acknowledged.push(id);
      return status;
    };
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
    const owned = cleanUp.move();
    return {
      url,
      child,
      err,
      acknowledged,
      /** The status of the first response that was not 200. */
      refusal,
      /** Creates a plant with a new id, and returns the status of the response. */
      create,
      /** Makes space, and waits until the service is ready. */
      async freeSpace(): Promise<void> {
        rmSync(filler);
        await eventually(async () => (await statusOf(url, "/readyz")) === 200);
      },
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  }
});

describe("a limit of the file size, which SQLite reports like an I/O error,", () => {
  /** Creates plants until the WAL has reached the limit and the service has ended; the next start then opens the file. */
  const reachLimit = memoize(async () => {
    using own = temporaryFolder();
    const file = join(own.path, "plants.db");
    // In units of 512 bytes: about sixty of these plants fit into the WAL.
    const shell = shellArguments('ulimit -f 8000; exec "$@"', ["serve", "--database", file]);
    await using service = await untilListening(start("sh", shell, { environment: accessTokenEnvironment }));
    const { acknowledged, refusals } = createUntilRefused(service.url, largeName);
    for (const error of await refusals) expect(error).toBeOneOf([0, 50302]);
    expect(acknowledged.length).toBeGreaterThan(0);
    const { code, err } = await service.ended;
    const { rebuilt } = openAsNextStart(file);
    return { code, err, rebuilt, missing: missingIn(file, acknowledged) };
  });

  test("ends the service", async () => {
    const { code, err } = await reachLimit();
    expect(code).toBe(1);
    expect(err).toContain("Writing failed: SQLITE_IOERR_WRITE.");
  });

  test("loses no plant that was acknowledged", async () => {
    const { rebuilt, missing } = await reachLimit();
    expect(rebuilt).toBe(true);
    expect(missing).toEqual([]);
  });
});
