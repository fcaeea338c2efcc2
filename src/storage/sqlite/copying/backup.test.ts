import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, utimesSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { caught } from "../../../../test/support/caught.ts";
import { seedStore } from "../../../../test/support/seeded-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { Problem } from "../../../system/problem.ts";
import { type BackupFile, streamBackup, writeBackup } from "./backup.ts";
import { expectedChecksum } from "./checksum.ts";

const folder = temporaryFolder();
const store = folder.newPath();
beforeAll(() => seedStore(store, { plants: 3 }));
afterAll(() => folder[Symbol.dispose]());

test("of two backups to one file at the same time, one is complete with its checksum, and the other is refused", async () => {
  const to = join(folder.newFolder(), "copy.db");
  let other: Promise<unknown> | undefined;
  const one = await caught(
    writeBackup(store, to, ({ doing }) => {
      // The last step before the copy gets its name.
      if (doing === "computing the checksum of") other ??= caught(writeBackup(store, to));
    }),
  );
  const ended = [one, await other];
  const [refused] = ended.filter((end) => end instanceof Problem);
  const [made] = ended.filter((end) => !(end instanceof Error)) as BackupFile[];
  expect(String(refused)).toContain(to);
  expect(made).toMatchObject({ path: to, plants: 3 });
  expect(expectedChecksum(to)).toBe(made?.sha256);
  expect(new Bun.CryptoHasher("sha256").update(readFileSync(to)).digest("hex")).toBe(made?.sha256 as string);
  expect(readdirSync(dirname(to)).sort()).toEqual(["copy.db", "copy.db.sha256"]);
});

test("a backup to a stream leaves no file, also if its reader is gone, and removes one that was interrupted", async () => {
  const path = join(folder.newFolder(), "plants.db");
  seedStore(path, { plants: 3 });
  const names = () => readdirSync(dirname(path)).filter((name) => name.includes("partial"));
  writeFileSync(`${path}.backup.partial-1`, "");
  utimesSync(`${path}.backup.partial-1`, 1, 1);
  const chunks: Uint8Array[] = [];
  const { sha256 } = await streamBackup(path, async (chunk) => chunks.push(chunk) > 0);
  expect(new Bun.CryptoHasher("sha256").update(Buffer.concat(chunks)).digest("hex")).toBe(sha256);
  expect(names()).toEqual([]);
  const gone = await caught(streamBackup(path, async () => false));
  expect(String(gone)).toContain("Standard output was closed before the whole backup was written.");
  expect(names()).toEqual([]);
});
