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
  /** Of those compared, how many differ in the target. */
  differing: number;
  tokens: number;
  /** In what they differ; the first few. */
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

export function newCopyCounts(): CopyCounts {
  return {
    created: 0,
    replayed: 0,
    conflicts: 0,
    failed: 0,
    compared: 0,
    differing: 0,
    tokens: 0,
    problems: [],
  };
}

/** A copy that runs. */
interface RunningCopy {
  readonly from: Pick<ReadableStore, "archive" | "tokens">;
  readonly to: Store;
  /** The plants of the source, page by page, but for those that are left out. */
  readonly pages: () => AsyncIterable<readonly StoredPlant[]>;
  readonly counts: CopyCounts;
}

const rowsPerRead = 1000;
const problemsMax = 20;

/**
 * Copies tokens and plants, with their times and creators, and then compares every plant of the source with the target's. Counts
 * what it does meanwhile. Existing rows of the target are unchanged, so a rerun resumes.
 */
export async function copyStore(
  from: Pick<ReadableStore, "archive" | "tokens">,
  to: Store,
  counts: CopyCounts,
  { without = new Set(), onStep, onFailed }: CopyOptions,
): Promise<void> {
  async function* pages() {
    for await (const { plants } of pagesOf(from.archive, {}, rowsPerRead))
      yield plants.filter(({ id }) => !without.has(id));
  }
  const copy = { from, to, pages, counts };
  const total = await from.archive.total();
  if (without.size > 0) await to.audit.record(copyWithoutEntry(without.size));
  onStep({
    doing: "copying",
    unit: "plants",
    done: () => counts.created + counts.replayed + counts.conflicts + counts.failed,
    total: () => total - without.size,
  });
  await copyTokens(copy);
  const failedIds = await copyPlants(copy, onFailed);

  onStep({
    doing: "comparing the copy with",
    unit: "plants",
    done: () => counts.compared + counts.failed,
    total: () => total - without.size,
  });
  await compareStores(copy, failedIds);
}

/** Returns the ids that the target refuses. */
async function copyPlants(
  { to, pages, counts }: RunningCopy,
  onFailed: CopyOptions["onFailed"],
): Promise<ReadonlySet<bigint>> {
  const failedIds = new Set<bigint>();
  for await (const plants of pages()) {
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
async function copyTokens({ from, to, counts }: RunningCopy): Promise<void> {
  const known = new Map((await to.tokens.all()).map((token) => [token.digest, token]));
  for (const token of await from.tokens.all()) {
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
  { to, pages, counts }: RunningCopy,
  failedIds: ReadonlySet<bigint>,
): Promise<void> {
  for await (const plants of pages()) {
    const found = await to.archive.findAll(plants.map(({ id }) => id));
    const copies = new Map(found.map((copy) => [copy.id, copy]));
    for (const plant of plants) {
      if (failedIds.has(plant.id)) continue;
      counts.compared++;
      const difference = whyDifferent(plant, copies.get(plant.id));
      if (difference === undefined) continue;
      counts.differing++;
      if (counts.problems.length < problemsMax) counts.problems.push(`id ${plant.id} ${difference}`);
    }
    await nextTurn();
  }
}

function whyDifferent(plant: StoredPlant, copy: StoredPlant | undefined): string | undefined {
  if (copy === undefined) return "is missing in the target";
  const fields = (["name", "tag", "createdAtMs", "createdBy"] as const).filter(
    (field) => plant[field] !== copy[field],
  );
  const words = { name: "name", tag: "tag", createdAtMs: "created_at", createdBy: "created_by" };
  if (fields.length === 0) return undefined;
  return `differs in the target: ${fields.map((field) => words[field]).join(", ")}`;
}
