// The thread of copy-calls.ts.

import { asDataFileProblem, isDamage } from "../data-file/data-file-problem.ts";
import { syncFile } from "../data-file/durable-files.ts";
import { copyInto, findDamage } from "../opening/copy-into.ts";
import { openReadOnly, openWithoutWal } from "../opening/open-read-only.ts";
import { serveThread } from "../threads/thread.ts";
import { checkRows } from "./check-rows.ts";
import { computeChecksum } from "./checksum.ts";
import type { SharedProgress } from "./progress.ts";

/** Whoever asked has decided whether a file whose WAL was lost is accepted. */
const open = (path: string) => openReadOnly(path, () => {});

const calls = {
  copy(from: string, to: string, isComplete: boolean) {
    using database = isComplete ? openWithoutWal(from) : open(from);
    try {
      copyInto(database, to);
    } catch (error) {
      throw asDataFileProblem(error, isDamage(error) ? from : to);
    }
  },
  findDamage(path: string) {
    using database = open(path);
    return findDamage(database);
  },
  checkRows(path: string, progress: SharedProgress) {
    using database = open(path);
    return checkRows(database, progress);
  },
  computeChecksum,
  syncFile,
};
export type CopyCalls = typeof calls;

serveThread(() => ({ calls }));
