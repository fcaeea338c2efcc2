import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { AuditEntry } from "../access/audit.ts";
import { localOrigin } from "../access/local-user.ts";
import type { Token } from "../access/token.ts";
import { pagesOf, plantToStore, type StoredPlant } from "../plants/plant-archive.ts";
import type { OnStep } from "../plants/plant-backups.ts";
import { formatPlural } from "../text/counts.ts";
import type { ReadableStore, Store } from "./store.ts";

/** What a copy has done, and what a comparison has found. */
export interface CopyCounts {
  created: number;
  /** Stored already, by an earlier run. */
  replayed: number;
  /** The target has another plant with that id, which stays. */
  conflicts: number;
  /** The target refuses them; each was reported. */
  failed: number;
  compared: number;
  tokens: number;
  /** What differs in the target; the first few. */
  readonly problems: string[];
}

/** How a copy is made. */
interface CopyOptions {
  /** The ids of plants that are left out. */
  readonly without?: ReadonlySet<bigint>;

  readonly onStep: OnStep;
  /** The target refuses a plant. */
  readonly onFailed: (id: bigint, reason: string) => void;
}

/** A copy that runs. */
interface RunningCopy {
  readonly from: Pick<ReadableStore, "archive" | "tokens">;
  readonly to: Store;
  /** The plants of the source, page by page, but for those that are left out. */
  readonly pages: () => AsyncIterable<readonly StoredPlant[]>;
  readonly counts: CopyCounts;
  readonly stop: AbortSignal;
}

const rowsPerRead = 1000;
const problemsMax = 20;

/**
 * Copies tokens and plants, with their times and creators, and then compares every plant of the source with the target's. Ends
 * early on a stop. Existing rows of the target are unchanged, so a rerun resumes.
 */
export async function copyStore(
  from: Pick<ReadableStore, "archive" | "tokens">,
  to: Store,
  { without = new Set(), onStep, onFailed }: CopyOptions,
  stop: AbortSignal,
): Promise<CopyCounts> {
  const counts: CopyCounts = {
    created: 0,
    replayed: 0,
    conflicts: 0,
    failed: 0,
    compared: 0,
    tokens: 0,
    problems: [],
  };
  async function* pages() {
    for await (const { plants } of pagesOf(from.archive, {}, rowsPerRead))
      yield plants.filter(({ id }) => !without.has(id));
  }
  const copy = { from, to, pages, counts, stop };
  // Counting millions of plants on PostgreSQL takes seconds, and the number is only for the progress.
  const total = await Promise.race([from.archive.total(), once(stop, "abort")]);
  if (typeof total !== "number") return counts;
  if (without.size > 0) await to.audit.record(copyWithoutEntry(without.size));
  onStep({
    doing: "copying the store",
    unit: "plants",
    done: () => counts.created + counts.replayed + counts.conflicts + counts.failed,
    total: () => total - without.size,
  });
  await copyTokens(copy);
  if (stop.aborted) return counts;
  const failedIds = await copyPlants(copy, onFailed);
  if (stop.aborted) return counts;

  onStep({
    doing: "comparing both stores",
    unit: "plants",
    done: () => counts.compared + counts.failed,
    total: () => total - without.size,
  });
  await compareStores(copy, failedIds);
  return counts;
}

/** Returns the ids that the target refuses. */
async function copyPlants(
  { to, pages, counts, stop }: RunningCopy,
  onFailed: CopyOptions["onFailed"],
): Promise<ReadonlySet<bigint>> {
  const failedIds = new Set<bigint>();
  for await (const plants of pages()) {
    if (stop.aborted) break;
    const outcomes = await to.plants.create(plants.map(plantToStore), Date.now());
    for (const [index, { id }] of plants.entries()) {
      const outcome = outcomes[index];
      if (outcome?.kind === "created") counts.created++;
      else if (outcome?.kind === "replayed") counts.replayed++;
      else if (outcome?.kind === "conflict") counts.conflicts++;
      else {
        counts.failed++;
        failedIds.add(id);
        onFailed(id, outcome?.reason ?? "the target reported no outcome");
      }
    }
    // Two data files are read and written on this thread: a turn of the event loop after each page lets timers and signals in.
    await nextTurn();
  }
  return failedIds;
}

/** A token that has expired or was revoked in either store stays so: a copy never extends a token of the target. */
async function copyTokens({ from, to, counts, stop }: RunningCopy): Promise<void> {
  const known = new Map((await to.tokens.all()).map((token) => [token.digest, token]));
  for (const token of await from.tokens.all()) {
    if (stop.aborted) return;
    const copy = known.get(token.digest);
    if (copy === undefined) {
      await to.tokens.addCopy(token, copyEntry(token));
      counts.tokens++;
      continue;
    }
    const expiresAtMs = earliest(copy.expiresAtMs, token.expiresAtMs);
    const revokedAtMs = copy.revokedAtMs ?? token.revokedAtMs;
    if (expiresAtMs === copy.expiresAtMs && revokedAtMs === copy.revokedAtMs) continue;
    await to.tokens.change([{ ...copy, expiresAtMs, revokedAtMs }], copyEntry(copy));
    counts.tokens++;
  }
}

function copyEntry({ id, name }: Token): AuditEntry {
  return { ...localOrigin(), atMs: Date.now(), action: "token.copied", subject: name, detail: id };
}

/** The first entry of the new store. Which plants it lacks, nobody is told. */
function copyWithoutEntry(plants: number): AuditEntry {
  const detail = `without ${formatPlural(plants, "plant")}`;
  return { ...localOrigin(), atMs: Date.now(), action: "store.copied", subject: "plants", detail };
}

function earliest(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined) return other;
  return other === undefined ? one : Math.min(one, other);
}

/** Compares every plant of the source, except those that failed, with the target's plant of the same id. */
async function compareStores(
  { to, pages, counts, stop }: RunningCopy,
  failedIds: ReadonlySet<bigint>,
): Promise<void> {
  for await (const plants of pages()) {
    const found = await to.archive.findAll(plants.map(({ id }) => id));
    const copies = new Map(found.map((copy) => [copy.id, copy]));
    for (const plant of plants) {
      if (failedIds.has(plant.id)) continue;
      counts.compared++;
      const difference = whyDifferent(plant, copies.get(plant.id));
      if (difference !== undefined && counts.problems.length < problemsMax)
        counts.problems.push(`the plant with the id ${plant.id} ${difference}`);
    }
    await nextTurn();
    if (stop.aborted) return;
  }
}

function whyDifferent(plant: StoredPlant, copy: StoredPlant | undefined): string | undefined {
  if (copy === undefined) return "is missing";
  const fields = (["name", "tag", "createdAtMs", "createdBy"] as const).filter(
    (field) => plant[field] !== copy[field],
  );
  const words = { name: "name", tag: "tag", createdAtMs: "time", createdBy: "sender" };
  if (fields.length === 0) return undefined;
  return `has another ${fields.map((field) => words[field]).join(" and ")} there`;
}
