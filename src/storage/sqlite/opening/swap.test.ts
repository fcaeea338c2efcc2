import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { spawnSync } from "node:child_process";
import * as fs from "node:fs";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  linkSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { crashedStore } from "../../../../test/support/crashed-store.ts";
import { temporaryFolder } from "../../../../test/support/temporary-folder.ts";
import { messageOf } from "../../../system/errors.ts";
import { inspectDataFile, refuseByTable } from "./data-file-table.ts";
import { folderForOld, replaceBy } from "./swap.ts";

const temporary = temporaryFolder();
afterAll(() => temporary[Symbol.dispose]());

const crashed = temporary.newPath();
const made = temporary.newPath("copy.db");
beforeAll(async () => {
  await crashedStore(crashed, 6);
  using database = new Database(crashed, { readonly: true });
  database.run("VACUUM INTO ?", [made]);
});

/** A data file that was in use, with its WAL and its -shm, a copy of it, and the folder for what is there now. */
function newSwap(): { readonly copy: string; readonly path: string; readonly folder: string } {
  const path = join(temporary.newFolder(), "plants.db");
  for (const ending of ["", "-wal"]) copyFileSync(crashed + ending, path + ending);
  writeFileSync(`${path}-shm`, "of the old file");
  const copy = `${path}.replacement`;
  copyFileSync(made, copy);
  return { copy, path, folder: folderForOld(path, Date.UTC(2026, 10, 15)) };
}

const isSame = (one: string, other: string) =>
  existsSync(one) && readFileSync(one).equals(readFileSync(other));

/** The copy is the data file, and the folder has the old files. */
function expectSwapped({ path, folder }: { readonly path: string; readonly folder: string }): void {
  expect(isSame(path, made)).toBe(true);
  expect(inspectDataFile(path).verdict).toBe("new WAL");
  expect(readdirSync(folder).sort()).toEqual(["plants.db", "plants.db-wal"]);
  for (const ending of ["", "-wal"])
    expect(isSame(join(folder, `plants.db${ending}`), crashed + ending)).toBe(true);
  expect(readdirSync(dirname(path)).sort()).toEqual(["plants.db", basename(folder)]);
}

const withoutLinks = () => {
  throw Object.assign(new Error("operation not permitted, link"), { code: "EPERM" });
};

describe.each([
  ["with links", linkSync],
  ["without links", withoutLinks],
])("a swap %s", (_, link) => {
  const replace = (swap: ReturnType<typeof newSwap>) => {
    using _spy = spyOn(fs, "linkSync").mockImplementation(link);
    replaceBy(swap.copy, swap.path, swap.folder);
  };

  test("keeps the old file and its WAL, whose mode the copy gets, and not what an interrupted one put there", () => {
    const swap = newSwap();
    chmodSync(swap.path, 0o640);
    replace(swap);
    expectSwapped(swap);
    expect(statSync(swap.path).mode & 0o777).toBe(0o640);
    // The folder has an old file now.
    writeFileSync(swap.path, "of the attempt that was interrupted");
    copyFileSync(made, swap.copy);
    replace(swap);
    expectSwapped(swap);
  });

  // Each of these changes a name. The order in which they reach the disk is for the soak of power losses.
  test("that ends before any one of its changes leaves one whole store, or one that is refused with what to do", () => {
    const verdicts: string[] = [];
    for (let changes = 0; ; changes++) {
      const swap = newSwap();
      const isDone = !isInterrupted(changes, link, () => replaceBy(swap.copy, swap.path, swap.folder));
      const state = inspectDataFile(swap.path);
      verdicts.push(state.verdict);
      if (state.verdict === "foreign WAL") {
        const [, command = ""] = /`(mv .*)`/.exec(refusalOf(swap.path)) ?? [];
        expect(spawnSync("sh", ["-c", command]).status).toBe(0);
        expect(inspectDataFile(swap.path).verdict).toBe("new WAL");
      }
      // The old store is whole, where it was or in the folder.
      const kept = join(swap.folder, "plants.db");
      const old = existsSync(`${kept}-wal`) || !existsSync(swap.path) ? kept : swap.path;
      expect(isSame(old, crashed)).toBe(true);
      expect(isSame(`${existsSync(swap.path) ? old : swap.path}-wal`, `${crashed}-wal`)).toBe(true);
      if (isDone) break;
    }
    // Without links there is no data file for a moment.
    const missing = link === linkSync ? [] : ["lost data file"];
    expect([...new Set(verdicts)]).toEqual(["recover", ...missing, "foreign WAL", "new WAL"]);
  });
});

/** Whether the work is interrupted: it may change so many names, and the next change fails. */
function isInterrupted(changes: number, linkSync: typeof fs.linkSync, work: () => void): boolean {
  let left = changes;
  using spies = new DisposableStack();
  const { renameSync, rmSync, mkdirSync } = fs;
  for (const [name, change] of Object.entries({ linkSync, renameSync, rmSync, mkdirSync })) {
    const count = (...args: never[]) => {
      if (left === 0) throw new Error("interrupted");
      left--;
      return (change as (...args: never[]) => unknown)(...args);
    };
    spies.use(spyOn(fs, name as "linkSync").mockImplementation(count as never));
  }
  try {
    work();
    return false;
  } catch (error) {
    if (messageOf(error).includes("interrupted")) return true;
    throw error;
  }
}

function refusalOf(path: string): string {
  try {
    refuseByTable(path, inspectDataFile(path));
    return "";
  } catch (error) {
    return messageOf(error);
  }
}
