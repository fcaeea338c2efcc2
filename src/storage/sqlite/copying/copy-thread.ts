// The thread of copy-calls.ts.

import { asDataFileProblem, isDamage } from "../data-file/data-file-problem.ts";
import { syncFile } from "../data-file/durable-files.ts";
import { copyInto, findDamage } from "../opening/copy-into.ts";
import { openReadOnly, openWithoutWal } from "../opening/open-read-only.ts";
import { serveThread } from "../threads/thread.ts";
import { checkRows } from "./check-rows.ts";
import { computeChecksum } from "./checksum.ts";
import { comparePlants } from "./compare-plants.ts";
import type { CopyCalls } from "./copy-calls.ts";

/** Whoever asked has decided whether a file whose WAL was lost is accepted. */
const open = (path: string) => openReadOnly(path, () => {});

const calls: CopyCalls = {
  copy(from, to, isComplete) {
    using database = isComplete ? openWithoutWal(from) : open(from);
    try {
      copyInto(database, to);
    } catch (error) {
      throw asDataFileProblem(error, isDamage(error) ? from : to);
    }
  },
  findDamage(path) {
    using database = open(path);
    return findDamage(database);
  },
  checkRows(path, progress) {
    using database = open(path);
    return checkRows(database, progress);
  },
  comparePlants(path, against, progress) {
    using database = open(path);
    using other = open(against);
    return comparePlants(database, other, progress);
  },
  computeChecksum,
  syncFile,
};

serveThread(() => ({ calls }));
