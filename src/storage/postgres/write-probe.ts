import { randomBytes } from "node:crypto";
import type { Connections, Run } from "./connections.ts";
import { kindOf } from "./faults.ts";

const probeMsMax = 1500;
/** Stores no row, but takes the table lock of an INSERT, so it waits for whatever an INSERT would wait for. */
export const takeWriteLock = {
  name: "take-write-lock",
  text: `INSERT INTO plants (id, name, created_at_ms, created_by)
         SELECT 0, '', 0, '' WHERE false`,
};
// A row for each node: if all nodes wrote one row, each would wait until the others are replicated.
const writeNode = {
  name: "write-node",
  text: `INSERT INTO plant_store_nodes (node, seen_at_ms) VALUES ($1, $2::bigint)
         ON CONFLICT (node) DO UPDATE SET seen_at_ms = EXCLUDED.seen_at_ms`,
};
const removeDeadNodes = { text: "DELETE FROM plant_store_nodes WHERE seen_at_ms < $1::bigint" };
const nodeDeadAfterMs = 600_000;
// Rows that fill more than one page of the table, and one that goes into its TOAST table.
const fillerBytes = [950, 950, 950, 950, 950, 4000];
const insertRow = {
  text: "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES ($1::bigint, $2, 0, '')",
};

/** Finds out whether a plant could be stored now, without storing one. */
export class WriteProbe {
  readonly #connections: Connections;
  readonly #node = crypto.randomUUID();
  #freeSpaceRequired = false;
  #removedNodesAtMs = 0;

  constructor(connections: Connections) {
    this.#connections = connections;
  }

  /** A plant was refused because the disk was full: the next probe must prove that there is free space again. */
  requireFreeSpace(): void {
    this.#freeSpaceRequired = true;
  }

  async run(): Promise<void> {
    const nowMs = Date.now();
    await this.#connections.use(probeMsMax, async (run) => {
      await run(takeWriteLock, []);
      await run(writeNode, [this.#node, nowMs]);
      if (this.#freeSpaceRequired) await proveFreeSpace(run);
      if (nowMs - this.#removedNodesAtMs < nodeDeadAfterMs) return;
      await run(removeDeadNodes, [nowMs - nodeDeadAfterMs]);
      this.#removedNodesAtMs = nowMs;
    });
    this.#freeSpaceRequired = false;
  }
}

// A small row may fit into an existing page, so only rows that need new pages prove that the disk has free space.
async function proveFreeSpace(run: Run): Promise<void> {
  await run({ text: "BEGIN" }, []);
  try {
    for (const bytes of fillerBytes)
      await run(insertRow, [randomBytes(8).readBigInt64BE(), randomBytes(bytes).toString("hex")]);
  } catch (error) {
    // A constraint or trigger of the operator rejected the row, and would do so at every probe. The disk did not.
    if (kindOf(error) !== "plant") throw error;
  } finally {
    await run({ text: "ROLLBACK" }, []);
  }
}
