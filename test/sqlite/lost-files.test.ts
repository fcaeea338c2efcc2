// A data file or its WAL is lost or replaced while the service runs. lost-shm.test.ts loses the -shm file.
import { Database } from "bun:sqlite";
import { afterAll, describe, expect, test } from "bun:test";
import {
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { readMarker } from "../../src/storage/sqlite/data-file/failure-marker.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { DataFileReplaced } from "../../src/storage/store.ts";
import { sendSecondSignal, serve, start, unshareArguments, untilListening } from "../support/command.ts";
import { crashedStore } from "../support/crashed-store.ts";
import { eventually } from "../support/eventually.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { startHeldPost } from "../support/held-post.ts";
import { lacks, lacksMounts } from "../support/lacks.ts";
import { memoize } from "../support/memoize.ts";
import { createStatus, createUntilRefused, statusOf } from "../support/post-plants.ts";
import { missingIn, storedPlants, testPlant } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const folder = useFolderForEachTest();

const lostInLog = "the data file was lost";

const replaced =
  "was deleted, replaced or overwritten while the service ran: run `plant-store restore FILE --replace`";

// Elsewhere there is no /proc, and a backup has to be restored.
const noProc = lacks("/proc", process.platform !== "linux");

describe.skipIf(noProc)("a data file that is lost while the service runs", () => {
  interface LosingFiles {
    readonly file: string;
    /** A database of another program. */
    readonly other: string;
    /** Resolves once the service has refused a plant. */
    readonly refusal: Promise<unknown>;
  }
  const losses: [when: string, lose: (files: LosingFiles) => unknown][] = [
    ["it is deleted", ({ file }) => rmSync(file)],
    ["it is deleted with its folder", ({ file }) => rmSync(dirname(file), { recursive: true })],
    [
      "it is deleted just after its -shm",
      async ({ file, refusal }) => {
        rmSync(`${file}-shm`);
        // A transaction has noticed.
        await refusal;
        rmSync(file);
      },
    ],
    ["its WAL alone is deleted", ({ file }) => rmSync(`${file}-wal`)],
    ["its WAL alone is replaced", ({ file, other }) => renameSync(other, `${file}-wal`)],
  ];

  describe.each(losses)("since %s", (_, lose) => {
    /** What a service does whose files are lost under load, and which plants a restore of what it has open lacks. */
    const serveLosing = memoize(async () => {
      using own = temporaryFolder();
      const file = join(own.path, "it's data", "plants.db");
      const other = join(own.path, "other.db");
      createForeign(other);
      await using service = await startTestService({ database: file });
      const { acknowledged, refusal, refusals } = createUntilRefused(service.url, "under load");
      await eventually(() => acknowledged.length > 20);
      await lose({ file, other, refusal });
      const errors = await refusals;
      await eventually(() => service.logged.join("").includes(lostInLog));
      const ready = await statusOf(service.url, "/readyz");
      const live = await statusOf(service.url, "/livez");
      const copy = copyFrom(process.pid, file);
      const restored = join(own.path, "restored.db");
      const { code } = await runInProcess(["restore", copy, "--database", restored]);
      return { errors, ready, live, code, missing: missingIn(restored, acknowledged) };
    });

    test("refuses plants", async () => {
      expect((await serveLosing()).errors).toEqual([50302, 50302, 50302, 50302]);
    });

    test("leaves the service live and not ready", async () => {
      const { ready, live } = await serveLosing();
      expect(ready).toBe(503);
      expect(live).toBe(200);
    });

    test("is restored from the files that the process has open", async () => {
      const { code, missing } = await serveLosing();
      expect(code).toBe(0);
      expect(missing).toEqual([]);
    });
  });

  test("keeps a process that was told to stop alive until a second signal", async () => {
    const limits = ["--drain-timeout", "10m", "--body-timeout", "10m"];
    await using service = await serve(["--database", folder.dataFile, ...limits], {
      environment: accessTokenEnvironment,
    });
    await createStatus(service.url, 1);
    // It keeps the stop from ending before the file is lost.
    const { finish, response } = await startHeldPost(Number(new URL(service.url).port));
    service.child.kill("SIGTERM");
    await eventually(() => service.err().includes("stopping: finishing requests"));
    rmSync(folder.dataFile);
    await eventually(() => service.err().includes(lostInLog));
    finish();
    expect((await response).text).toStartWith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 ");
    const copy = copyFrom(service.child.pid ?? 0, folder.dataFile);
    expect(service.child.exitCode).toBeNull();
    await sendSecondSignal(service, "SIGTERM");
    expect((await service.ended).code).toBe(128 + constants.signals.SIGTERM);
    expect(storedPlants(copy)).toHaveLength(1);
  });

  test.each([
    ["has zeros in its middle", zeroMiddle],
    ["was shortened and appended to", (wal: string) => truncateSync(wal, statSync(wal).size / 2)],
  ])("is noticed before the next checkpoint if its WAL %s", async (_, harm) => {
    await using service = await startTestService({ database: folder.dataFile });
    const { acknowledged, refusals } = createUntilRefused(service.url, "x".repeat(20_000));
    await eventually(() => acknowledged.length > 100);
    harm(`${folder.dataFile}-wal`);
    const dataBytes = statSync(folder.dataFile).size;
    expect(await refusals).toEqual([50302, 50302, 50302, 50302]);
    // No checkpoint has written what the WAL lacks to it.
    expect(statSync(folder.dataFile).size).toBe(dataBytes);
  });

  test("is noticed when the service stops if its WAL has zeros in its middle", async () => {
    await using service = await serve(["--database", folder.dataFile], {
      environment: accessTokenEnvironment,
    });
    // Long names, so that the frames in the middle are the last ones of their pages.
    for (let id = 1; id <= 20; id++)
      expect(await createStatus(service.url, id, "x".repeat(20_000))).toBe(200);
    zeroMiddle(`${folder.dataFile}-wal`);
    service.child.kill("SIGTERM");
    await eventually(() => service.err().includes(lostInLog));
    expect(service.err()).toContain("The WAL was overwritten while it was open.");
    expect(service.err()).not.toContain("every acknowledged plant is on disk");
    expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);
  });

  test.each([
    ["deleted", (file: string) => rmSync(file)],
    ["overwritten", (file: string) => writeFileSync(file, Buffer.alloc(8192))],
  ])("is noticed by a last look if it is %s just before the store is closed", async (_, lose) => {
    const store = new SqliteStore(folder.dataFile);
    await store.plants.create([testPlant(1)], Date.now());
    lose(folder.dataFile);
    await store[Symbol.asyncDispose]();
    expect(await store.failure).toBeInstanceOf(DataFileReplaced);
    expect(readMarker(folder.dataFile)).toBe("replaced");
    expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);
  });

  test.skipIf(lacksMounts())(
    "is noticed by its device if another file system has a file of the same inode number there",
    async () => {
      const disk = join(folder.path, "disk");
      const other = join(folder.path, "other");
      mkdirSync(disk);
      mkdirSync(other);
      // Each tmpfs numbers its inodes from 1 on, so another one soon has a file with the same number. It is mounted over the
      // first only once it has: until then the file would be missing, which is noticed too.
      const script = `
        mount -t tmpfs none ${disk}
        mount -t tmpfs none ${other}
        "$@" &
        while [ ! -e ${folder.path}/mount-now ]; do sleep 0.05; done
        inode=$(stat -c %i ${disk}/plants.db)
        until [ "$(stat -c %i ${other}/plants.db)" = "$inode" ]; do mv ${other}/plants.db ${other}/$((n += 1)) 2>/dev/null; : > ${other}/plants.db; done
        mount --bind ${other} ${disk}
        wait`;
      const shell = unshareArguments(script, ["serve", "--database", `${disk}/plants.db`]);
      await using service = await untilListening(
        start("unshare", shell, {
          environment: accessTokenEnvironment,
          ownGroup: true,
        }),
      );
      expect(await createStatus(service.url, 1)).toBe(200);
      writeFileSync(join(folder.path, "mount-now"), "");
      await eventually(() => service.err().includes(lostInLog));
      expect(service.err()).toContain("The data file was deleted or replaced while it was open.");
    },
  );

  test("is reported in the log if the failure marker cannot be written", async () => {
    const data = join(folder.path, "data");
    await using service = await startTestService({ database: join(data, "plants.db") });
    rmSync(data, { recursive: true });
    writeFileSync(data, "in the way");
    await eventually(() => service.logged.join("").includes(lostInLog));
    expect(service.logged.join("")).toContain("the failure marker could not be written");
    expect(await createStatus(service.url, 2)).toBe(503);
  });
});

describe.skipIf(noProc)("a data file that another replaces while the service runs", () => {
  const services = new AsyncDisposableStack();
  afterAll(() => services.disposeAsync());

  /** A service, as a process, that has noticed it under load; `bytes` are those of the new file. */
  async function serveReplaced() {
    const own = services.use(temporaryFolder());
    const path = join(own.path, "plants.db");
    const other = join(own.path, "other.db");
    await crashedStore(other, 3, { checkpointed: 3 });
    const bytes = readFileSync(other);
    const service = services.use(await serve(["--database", path], { environment: accessTokenEnvironment }));
    const { acknowledged, refusals } = createUntilRefused(service.url, "under load");
    await eventually(() => acknowledged.length > 20);
    renameSync(other, path);
    expect(await refusals).toEqual([50302, 50302, 50302, 50302]);
    await eventually(() => service.err().includes(lostInLog));
    const stop = () => {
      service.child.kill("SIGTERM");
      return service.ended;
    };
    return { path, service, stop, acknowledged, bytes };
  }

  const stillServed = memoize(serveReplaced);
  const servedNoMore = memoize(async () => {
    const replacement = await serveReplaced();
    const isAliveUntilStopped = replacement.service.child.exitCode === null;
    return { ...replacement, isAliveUntilStopped, ended: await replacement.stop() };
  });

  async function expectRefused(
    command: string,
    { path, bytes }: Awaited<ReturnType<typeof serveReplaced>>,
  ): Promise<void> {
    const { code, err } = await runInProcess([...command.split(" "), "--database", path], {
      environment: accessTokenEnvironment,
    });
    expect(code).toBe(1);
    expect(err).toContain(replaced);
    expect(readFileSync(path).equals(bytes)).toBe(true);
  }

  // None of them may apply the old WAL to the new file, or write to that.
  const commands = ["list", "verify", "token create --name x"];

  test.each(commands)("is neither read nor changed by %s until the service stops", async (command) => {
    await expectRefused(command, await stillServed());
  });

  test.each([...commands, "serve"])("is neither read nor changed by %s later", async (command) => {
    await expectRefused(command, await servedNoMore());
  });

  test("does not end the service", async () => {
    expect((await servedNoMore()).isAliveUntilStopped).toBe(true);
  });

  test("makes the stop of the service an error", async () => {
    const { ended } = await servedNoMore();
    expect(ended.code).toBe(1);
    expect(ended.err).not.toContain("every acknowledged plant is on disk");
  });

  test("is replaced in turn by a restore of the files that the process has open", async () => {
    const { path, service, stop, acknowledged } = await serveReplaced();
    const copy = copyFrom(service.child.pid ?? 0, path);
    await stop();
    for (const end of ["", "-wal"]) renameSync(path + end, `${path}.away${end}`);
    expect(await runInProcess(["restore", copy, "--database", path])).toMatchObject({ code: 0 });
    await using again = await startTestService({ database: path });
    expect(missingIn(path, acknowledged)).toEqual([]);
    expect(await createStatus(again.url, 1)).toBe(200);
  });
});

/** A database of another program. */
function createForeign(path: string): void {
  using database = new Database(path);
  database.run("CREATE TABLE t (x)");
}

/** Overwrites some pages in the middle of the WAL with zeros, as if it had a hole there; its header and last frame stay. */
function zeroMiddle(wal: string): void {
  const file = openSync(wal, "r+");
  const middle = Math.floor(statSync(wal).size / 2);
  writeSync(file, Buffer.alloc(20_000), 0, 20_000, middle);
  closeSync(file);
}

/** Copies both files from the process that still has them open, as docs/operating.md says, and returns the path of the copy. */
function copyFrom(process: number, file: string): string {
  const open = readdirSync(`/proc/${process}/fd`).flatMap((number) => {
    const path = `/proc/${process}/fd/${number}`;
    // If it is this process, one of them is the handle that listed the folder, which is closed by now.
    return existsSync(path) ? [{ path, to: readlinkSync(path) }] : [];
  });
  const copy = join(folder.path, "rescued.db");
  for (const end of ["", "-wal"]) {
    const named = (name: string) => open.find(({ to }) => to === name)?.path;
    copyFileSync(named(`${file}${end} (deleted)`) ?? named(file + end) ?? "none", copy + end);
  }
  return copy;
}
