import { SQLiteError } from "bun:sqlite";
import type { PlantArchive } from "../../../plants/plant-archive.ts";
import { asDataFileProblem, Damage } from "../data-file/data-file-problem.ts";

/** Reads from an open data file, and returns what was read once it is durable. */
export type SyncedRead = <Result>(read: () => Result | Promise<Result>) => Promise<Result>;

/**
 * `synced` resolves once everything is durable that can be read when it is called. SQLite finds damage only on the page that it
 * reads, so each read may fail because of it.
 * @throws Problem
 */
export function syncedReads(path: string, synced: () => void | Promise<void>): SyncedRead {
  return async (read) => {
    try {
      const result = await read();
      await synced();
      return result;
    } catch (error) {
      throw error instanceof SQLiteError || error instanceof Damage ? asDataFileProblem(error, path) : error;
    }
  };
}

/** An archive on this thread, for processes other than the service. */
export function syncedArchive(archive: PlantArchive, synced: SyncedRead): PlantArchive {
  return {
    page: (request) => synced(() => archive.page(request)),
    pageAfter: (request) => synced(() => archive.pageAfter(request)),
    findAll: (ids) => synced(() => archive.findAll(ids)),
    total: () => synced(() => archive.total()),
    nowMs: () => archive.nowMs(),
    createdPerBucket: (...span) => synced(() => archive.createdPerBucket(...span)),
    count: (...request) => synced(() => archive.count(...request)),
    diskUsage: () => synced(() => archive.diskUsage()),
  };
}
