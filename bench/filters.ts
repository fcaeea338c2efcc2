// npm run bench:filters [-- MILLIONS]
// How long `list` and `export` take to find plants by one filter and by every pair of filters, on a store of so many million
// plants of mixed names (one unless told). Fails where a pair takes over three times as long as the slower of its parts.
import { Database } from "bun:sqlite";
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { PlantFilter } from "../src/plants/plant-archive.ts";
import { SqliteArchive } from "../src/storage/sqlite/sqlite-archive.ts";
import { seedStore } from "../test/seeded-store.ts";
import { median, temporaryFolder } from "./servers.ts";

const rounds = 3;
const ratioMax = 3;
// Whoever runs the command waits this long in any case, for it to start.
const startMs = 50;
const pageMax = 1000;
const millions = Number(process.argv[2] ?? 1);
const [fromMs, untilMs] = [Date.UTC(2026, 0), Date.UTC(2026, 10)];
const at = (part: number) => Math.round(fromMs + (untilMs - fromMs) * part);

const alone: Readonly<Record<string, PlantFilter>> = {
  "name, common": { namePart: "rosa" },
  "name, rare": { namePart: "Viola vulgaris" },
  "name, none": { namePart: "no such name" },
  "tag, common": { tag: "perennial" },
  "tag, rare": { tag: "moss" },
  "sender, common": { createdBy: "nursery" },
  "sender, none": { createdBy: "nobody" },
  since: { sinceMs: at(0.7) },
  until: { untilMs: at(0.3) },
};

const folder = temporaryFolder();
const file = join(folder, "plants.db");
await seedStore(file, { plants: millions * 1_000_000, fromMs, untilMs });
using database = new Database(file, { readonly: true, strict: true, safeIntegers: true });
const archive = new SqliteArchive(database, file);
let tooSlow = 0;
for (const limit of [20, 1000, Number.POSITIVE_INFINITY]) {
  console.log(`\n${limit === Number.POSITIVE_INFINITY ? "all of them" : `the newest ${limit}`}`);
  const times: Record<string, number> = {};
  for (const [name, filter] of Object.entries(alone)) {
    const { ms, found } = await measure(filter, limit);
    times[name] = ms;
    show(name, ms, found, "");
  }
  for (const [one, first] of Object.entries(alone)) {
    for (const [other, second] of Object.entries(alone)) {
      const shared = Object.keys(first).some((key) => key in second);
      if (shared || one >= other) continue;
      const { ms, found } = await measure({ ...first, ...second }, limit);
      const slower = Math.max(times[one] ?? 0, times[other] ?? 0, startMs);
      if (ms > ratioMax * slower) tooSlow++;
      show(`${one} + ${other}`, ms, found, `${(ms / slower).toFixed(1)} of the slower part`);
    }
  }
}
rmSync(folder, { recursive: true, force: true });
if (tooSlow > 0) process.exitCode = 1;

async function measure(filter: PlantFilter, limit: number): Promise<{ ms: number; found: number }> {
  const times: number[] = [];
  let found = 0;
  for (let round = 0; round < rounds; round++) {
    const beginMs = performance.now();
    found = 0;
    let cursor: string | undefined;
    do {
      const asked = Math.min(pageMax, limit - found);
      const page = await archive.page({
        filter,
        order: "newest-first",
        cursor,
        limit: asked,
        searchMsMax: 1000,
      });
      found += page.plants.length;
      cursor = page.next;
    } while (cursor !== undefined && found < limit);
    times.push(performance.now() - beginMs);
    if ((times[0] ?? 0) > 2000) break;
  }
  return { ms: median(times), found };
}

function show(name: string, ms: number, found: number, ratio: string): void {
  console.log(
    `${name.padEnd(34)} ${ms.toFixed(1).padStart(9)} ms ${String(found).padStart(8)} plants  ${ratio}`,
  );
}
