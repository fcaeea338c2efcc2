import { fdatasyncSync } from "node:fs";
import type { PlantArchive } from "../../../plants/plant-archive.ts";
import { withFile } from "../durable-files.ts";

/**
 * An archive for processes other than the service. The service fsyncs a transaction after its commit, so one that can be
 * read may not be durable yet: what was read is returned after an fsync of the WAL.
 */
export function syncedArchive(archive: PlantArchive, path: string): PlantArchive {
  const synced = async <Result>(read: Promise<Result>): Promise<Result> => {
    const result = await read;
    syncWalIfAny(`${path}-wal`);
    return result;
  };
  return {
    page: (request) => synced(archive.page(request)),
    pageAfter: (request) => synced(archive.pageAfter(request)),
    find: (id) => synced(archive.find(id)),
    findAll: (ids) => synced(archive.findAll(ids)),
    total: () => synced(archive.total()),
    createdPerBucket: (...span) => synced(archive.createdPerBucket(...span)),
    count: (filter, cursor, msMax) => synced(archive.count(filter, cursor, msMax)),
    arrivedSince: (cursor, limit) => synced(archive.arrivedSince(cursor, limit)),
    diskUsage: () => archive.diskUsage(),
  };
}

function syncWalIfAny(path: string): void {
  try {
    // SQLite holds no lock on the WAL file itself, so closing a handle to it drops none.
    withFile(path, "r", fdatasyncSync);
  } catch (error) {
    // No WAL, or one on read-only media, which no service writes.
    if (!["ENOENT", "EROFS", "EINVAL"].includes((error as NodeJS.ErrnoException).code ?? "")) throw error;
  }
}
