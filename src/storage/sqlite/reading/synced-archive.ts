import type { PlantArchive } from "../../../plants/plant-archive.ts";
import { syncWal } from "../durable-files.ts";

/**
 * An archive for processes other than the service. The service fsyncs a transaction after its commit, so one that can be
 * read may not be durable yet: what was read is returned after an fsync of the WAL.
 */
export function syncedArchive(archive: PlantArchive, path: string): PlantArchive {
  const synced = async <Result>(read: Promise<Result>): Promise<Result> => {
    const result = await read;
    syncWal(path);
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
    diskUsage: () => archive.diskUsage(),
  };
}
