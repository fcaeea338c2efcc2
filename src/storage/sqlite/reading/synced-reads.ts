import { SQLiteError } from "bun:sqlite";
import type { PlantArchive } from "../../../plants/plant-archive.ts";
import { asDataFileProblem, Damage } from "../data-file/data-file-problem.ts";
import type { Thread } from "../thread.ts";

/** Reads from an open data file, and returns what was read once it is durable. */
export type SyncedRead = <Result>(read: () => Result | Promise<Result>) => Promise<Result>;

/** Calls a method of the archive, on this thread or another. */
type Ask = Thread<PlantArchive>["ask"];

/**
 * `synced` resolves once everything is durable that can be read when it is called. SQLite finds damage only on the page that it
 * reads, so each read may fail because of it.
 * @throws DataFileProblem
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
  const methods = archive as unknown as Record<string, (...values: unknown[]) => Promise<never>>;
  return forwardingArchive((method, ...values) =>
    synced(() => methods[method]?.(...values) as Promise<never>),
  );
}

/** An archive that passes every call on. */
export function forwardingArchive(ask: Ask): PlantArchive {
  return {
    page: (request) => ask("page", request),
    pageAfter: (request) => ask("pageAfter", request),
    find: (id) => ask("find", id),
    findAll: (ids) => ask("findAll", ids),
    total: () => ask("total"),
    createdPerBucket: (...span) => ask("createdPerBucket", ...span),
    count: (...values) => ask("count", ...values),
    diskUsage: () => ask("diskUsage"),
  };
}
