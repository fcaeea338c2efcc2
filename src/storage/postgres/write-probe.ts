import { randomBytes } from "node:crypto";
import type { Connections, Run } from "./connections.ts";
import { kindOf } from "./faults.ts";

const probeMsMax = 1500;
/** Stores nothing, and takes the lock on the table that an INSERT takes, so it waits for whatever that would wait for. */
export const takeWriteLock = {
  name: "take-write-lock",
  text: `INSERT INTO plants (id, name, created_at_ms, created_by)
         SELECT 0, '', 0, '' WHERE false`,
};
// A row of this node's own: where all nodes write one row, each waits until the others are replicated.
const writeNode = {
  name: "write-node",
  text: `INSERT INTO plant_store_nodes (node, seen_at_ms) VALUES ($1, $2::bigint)
         ON CONFLICT (node) DO UPDATE SET seen_at_ms = EXCLUDED.seen_at_ms`,
};
const removeDeadNodes = { text: "DELETE FROM plant_store_nodes WHERE seen_at_ms < $1::bigint" };
const nodeDeadAfterMs = 600_000;
// Rows that stay in the table's own pages, more than one page of them, and one that goes into its TOAST table.
const roomNameBytes = [950, 950, 950, 950, 950, 4000];
const insertRow = {
  text: "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES ($1::bigint, $2, 0, '')",
};

/** Finds out whether a plant could be stored now, and stores none. */
export class WriteProbe {
  readonly #connections: Connections;
  readonly #node = crypto.randomUUID();
  #roomDoubted = false;
  #removedNodesAtMs = 0;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /** A plant was refused because the disk was full: from now on, the probe must show that there is room again. */
  doubtRoom(): void {
    this.#roomDoubted = true;
  }

  async run(): Promise<void> {
    const nowMs = Date.now();
    await this.#connections.use(probeMsMax, async (run) => {
      await run(takeWriteLock, []);
      await run(writeNode, [this.#node, nowMs]);
      if (this.#roomDoubted) await proveRoom(run);
      if (nowMs - this.#removedNodesAtMs < nodeDeadAfterMs) return;
      await run(removeDeadNodes, [nowMs - nodeDeadAfterMs]);
      this.#removedNodesAtMs = nowMs;
    });
    this.#roomDoubted = false;
  }
}

// A small row can fit into a page that is there already, so only rows that need new pages show that the disk has room.
async function proveRoom(run: Run): Promise<void> {
  await run({ text: "BEGIN" }, []);
  try {
    for (const bytes of roomNameBytes)
      await run(insertRow, [randomBytes(8).readBigInt64BE(), randomBytes(bytes).toString("hex")]);
  } catch (error) {
    // A constraint or a trigger of the operator's own refuses such rows, and would do so at every probe. The disk did not.
    if (kindOf(error) !== "plant") throw error;
  } finally {
    await run({ text: "ROLLBACK" }, []);
  }
}
