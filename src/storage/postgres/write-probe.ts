import { randomBytes } from "node:crypto";
import type { Connections, Run } from "./connections.ts";
import { codeOf, diskFullCode, kindOf } from "./faults.ts";

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
// A row that goes into the TOAST table. Autovacuum soon removes it there, since that table has few rows.
const toastFillerBytes = [4000];
// Rows that fill more than one page of the table too.
const pagesFillerBytes = [950, 950, 950, 950, 950, ...toastFillerBytes];
const spaceProvenForMs = 30_000;
const insertRow = {
  text: "INSERT INTO plants (id, name, created_at_ms, created_by) VALUES ($1::bigint, $2, 0, '')",
};

/** Finds out whether a plant could be stored now, without storing one. */
export class WriteProbe {
  readonly #connections: Connections;
  readonly #node = crypto.randomUUID();
  readonly #spaceProvenForMs: number;
  #diskWasFull = false;
  #spaceProvenAtMs = Number.NEGATIVE_INFINITY;
  #removedNodesAtMs = 0;

  constructor(connections: Connections, provenForMs = spaceProvenForMs) {
    this.#connections = connections;
    this.#spaceProvenForMs = provenForMs;
  }

  /** Plants were stored, which proves free space without a probe. */
  plantsStored(): void {
    this.#spaceProvenAtMs = performance.now();
  }

  /** The disk was full: the next probe must prove that there is free space for new pages. */
  diskFull(): void {
    this.#diskWasFull = true;
  }

  async run(): Promise<void> {
    const nowMs = Date.now();
    await this.#connections.use(probeMsMax, async (run) => {
      await run(takeWriteLock, []);
      await run(writeNode, [this.#node, nowMs]);
      await this.#proveFreeSpace(run);
      if (nowMs - this.#removedNodesAtMs < nodeDeadAfterMs) return;
      await run(removeDeadNodes, [nowMs - nodeDeadAfterMs]);
      this.#removedNodesAtMs = nowMs;
    });
  }

  async #proveFreeSpace(run: Run): Promise<void> {
    const isProven = performance.now() - this.#spaceProvenAtMs < this.#spaceProvenForMs;
    if (isProven && !this.#diskWasFull) return;
    try {
      await insertAndRollBack(run, this.#diskWasFull ? pagesFillerBytes : toastFillerBytes);
    } catch (error) {
      if (codeOf(error) === diskFullCode) this.#diskWasFull = true;
      throw error;
    }
    this.#diskWasFull = false;
    this.#spaceProvenAtMs = performance.now();
  }
}

// A small row may fit into an existing page, so only rows that need new pages prove that the disk has free space.
async function insertAndRollBack(run: Run, sizes: readonly number[]): Promise<void> {
  await run({ text: "BEGIN" }, []);
  try {
    for (const bytes of sizes)
      await run(insertRow, [randomBytes(8).readBigInt64BE(), randomBytes(bytes).toString("hex")]);
  } catch (error) {
    // A constraint or trigger of the operator rejected the row, and would do so at every probe. The disk did not.
    if (kindOf(error) !== "plant") throw error;
  } finally {
    await run({ text: "ROLLBACK" }, []);
  }
}
