import type { Database } from "bun:sqlite";
import { OutcomeUnknown } from "../../plants/plant-store.ts";
import { writeMarker } from "./failure-marker.ts";

/** Holds on to the connection: collected as garbage it would be closed, which checkpoints and deletes the WAL. */
export class UnclosedFailure extends OutcomeUnknown {
  readonly database: Database;

  constructor(message: string, database: Database) {
    super(message);
    this.database = database;
  }
}

/** The same where a sync may have failed, noted for the next start. */
export function syncFailure(path: string, reason: string, database: Database): UnclosedFailure {
  let message = `${path} cannot be used: ${reason.replace(/\.$/, "")}.`;
  try {
    writeMarker(path, { reason: "sync-failed" });
  } catch (error) {
    message += ` The failure could not be noted beside it either: ${String(error)}.`;
  }
  return new UnclosedFailure(message, database);
}
