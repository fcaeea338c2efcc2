// A data file or its WAL is lost or replaced while the service runs. lost-shm.test.ts loses the -shm file.
import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
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
import { createStatus, createUntilRefused, statusOf } from "../support/post-plants.ts";
import { missingIn, storedPlants, testPlant } from "../support/stored-plants.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { accessTokenEnvironment } from "../support/tokens.ts";

const folder = useFolderForEachTest();

const lostInLog = "the data file was lost";

const replaced = "overwritten while the service ran";

// Elsewhere there is no /proc, and a backup has to be restored.
const noProc = lacks("/proc", process.platform !== "linux");

describe.skipIf(noProc)("a data file that is lost while the service runs", () => {
  const losses: [when: string, lose: (file: string) => void][] = [
    ["it is deleted", (file) => rmSync(file)],
    ["it is deleted with its folder", (file) => rmSync(dirname(file), { recursive: true })],
    ["its WAL alone is deleted", (file) => rmSync(`${file}-wal`)],
  ];

  test.each(losses)(
    "since %s is restored from what the service has open, which stays up",
    async (_, lose) => {
      const file = join(folder.path, "it's data", "plants.db");
      await using service = await startTestService({ database: file });
      const { acknowledged, refusals } = createUntilRefused(service.url, "under load");
      await eventually(() => acknowledged.length > 20);
      lose(file);
      expect(await refusals).toEqual([50302, 50302, 50302, 50302]);
      await eventually(() => service.logged.join("").includes(lostInLog));
      expect(await statusOf(service.url, "/readyz")).toBe(503);
      expect(await statusOf(service.url, "/livez")).toBe(200);
      const restored = join(folder.path, "restored.db");
      const copy = copyFrom(process.pid, file);
      expect(await runInProcess(["restore", copy, "--database", restored])).toMatchObject({ code: 0 });
      expect(missingIn(restored, acknowledged)).toEqual([]);
    },
  );

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
    ["it is deleted", (file: string) => rmSync(file), "The data file was deleted", undefined],
    [
      "its WAL is replaced",
      (file: string) => {
        rmSync(`${file}-wal`);
        writeFileSync(`${file}-wal`, Buffer.alloc(8192));
      },
      "The WAL was deleted or replaced",
      "overwritten" as const,
    ],
    [
      "it is overwritten",
      (file: string) => writeFileSync(file, Buffer.alloc(8192)),
      "The data file was overwritten",
      "overwritten" as const,
    ],
  ])("is noticed by a last look if %s just before the store is closed", async (_, lose, reason, marker) => {
    const store = new SqliteStore(folder.dataFile);
    await store.plants.create([testPlant(1)], Date.now());
    lose(folder.dataFile);
    await store[Symbol.asyncDispose]();
    const failure = await store.failure;
    expect(failure).toBeInstanceOf(DataFileReplaced);
    expect(failure.message).toStartWith(reason);
    expect(readMarker(folder.dataFile)).toBe(marker);
    expect(statSync(`${folder.dataFile}-wal`).size).toBeGreaterThan(0);
  });

  test("counts as overwritten if it is emptied, although SQLite then deletes its WAL", async () => {
    const store = new SqliteStore(folder.dataFile);
    await store.plants.create([testPlant(1)], Date.now());
    writeFileSync(folder.dataFile, "");
    {
      using other = new Database(folder.dataFile);
      other.query("SELECT name FROM sqlite_schema").all();
    }
    expect(existsSync(`${folder.dataFile}-wal`)).toBe(false);
    await store[Symbol.asyncDispose]();
    expect(readMarker(folder.dataFile)).toBe("overwritten");
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

/** None of the commands may apply the old WAL to the new file, or write to that. */
async function expectRefused(bytes: Buffer, commands: readonly string[]): Promise<void> {
  for (const command of commands) {
    const { code, err } = await runInProcess([...command.split(" "), "--database", folder.dataFile], {
      environment: accessTokenEnvironment,
    });
    expect(err).toContain(replaced);
    expect(code).toBe(1);
    expect(readFileSync(folder.dataFile).equals(bytes)).toBe(true);
  }
}

test.skipIf(noProc)(
  "a data file that replaces the service's own is neither read nor changed, until that is restored",
  async () => {
    const other = join(folder.path, "other.db");
    await crashedStore(other, 3, { checkpointed: 3 });
    const bytes = readFileSync(other);
    await using service = await serve(["--database", folder.dataFile], {
      environment: accessTokenEnvironment,
    });
    const { acknowledged, refusals } = createUntilRefused(service.url, "under load");
    await eventually(() => acknowledged.length > 20);
    renameSync(other, folder.dataFile);
    expect(await refusals).toEqual([50302, 50302, 50302, 50302]);
    await eventually(() => service.err().includes(lostInLog));

    const commands = ["list", "verify", "token create --name x"];
    await expectRefused(bytes, commands);
    const copy = copyFrom(service.child.pid ?? 0, folder.dataFile);
    expect(service.child.exitCode).toBeNull();
    service.child.kill("SIGTERM");
    const { code, err } = await service.ended;
    expect(code).toBe(1);
    expect(err).not.toContain("every acknowledged plant is on disk");
    await expectRefused(bytes, [...commands, "serve"]);

    for (const end of ["", "-wal"]) renameSync(folder.dataFile + end, `${folder.dataFile}.away${end}`);
    expect(await runInProcess(["restore", copy, "--database", folder.dataFile])).toMatchObject({ code: 0 });
    await using again = await startTestService({ database: folder.dataFile });
    expect(missingIn(folder.dataFile, acknowledged)).toEqual([]);
    expect(await createStatus(again.url, 1)).toBe(200);
  },
);

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
