// npm run bench:operator [-- MILLIONS] [--quick] [--write]
// How fast the operator listener responds on a store of that many million plants (ten by default): pages, filters, searches,
// the overview. Fails if a response takes longer than its limit.
import { rmSync } from "node:fs";
import { join } from "node:path";
import { fill } from "./growth.ts";
import { ownOptions } from "./options.ts";
import { saveResults } from "./results.ts";
import { median, startOursOn, temporaryFolder, token } from "./servers.ts";

const rounds = 5;
const options = ownOptions();
const millions = Number(options.positional[0] ?? (options.quick ? 0.1 : 10));
const total = millions * 1_000_000;

interface Page {
  readonly plants: readonly { readonly id: string; readonly name: string }[];
  readonly next?: string;
}

const folder = temporaryFolder();
// Disposed last: a service whose data file disappears saves a copy of it.
await using folders = new AsyncDisposableStack();
folders.defer(() => rmSync(folder, { recursive: true, force: true }));
const database = join(folder, "plants.db");
fill(database, total, "random");
await using server = await startOursOn(database, { PLANT_STORE_OPERATOR_TOKEN: `${token}-operator` });
const base = `http://127.0.0.1:${server.operatorPort}`;

const list = (query: string) => ask<Page>(`/api/plants?${query}`);
// Up to the first result, which a person waits for: page by page until there is one.
const search = async (name: string): Promise<void> => {
  let cursor: string | undefined;
  do {
    const page = await list(
      `name=${encodeURIComponent(name)}${cursor === undefined ? "" : `&cursor=${cursor}`}`,
    );
    if (page.plants.length > 0) return;
    cursor = page.next;
  } while (cursor !== undefined);
};
const oldest = (await list("order=oldest&limit=1")).plants[0];
const questions: [name: string, msMax: number, ask: () => Promise<unknown>][] = [
  ["first page", 100, () => list("limit=100")],
  ["a page in the middle", 100, () => list(`limit=100&cursor=${Math.floor(total / 2)}`)],
  ["a page near the end", 100, () => list("limit=100&cursor=5000")],
  ["tag filter", 100, () => list("tag=herb&limit=100")],
  ["tag filter, a late page", 100, () => list(`tag=herb&limit=100&cursor=${Math.floor(total / 10)}`)],
  ["one plant by id", 100, () => ask(`/api/plants/${oldest?.id}`)],
  ["id filter", 100, () => list(`id=${oldest?.id}`)],
  ["name search, found often", 1000, () => search("FERN")],
  ["name search, the one oldest plant", 1000, () => search(oldest?.name ?? "")],
  ["overview", 300, () => ask("/api/overview")],
];
const operator: { name: string; medianMs: number; msMax: number }[] = [];
for (const [name, msMax, question] of questions) {
  const times: number[] = [];
  for (let round = 0; round <= rounds; round++) {
    const startMs = performance.now();
    await question();
    if (round > 0) times.push(performance.now() - startMs);
  }
  operator.push({ name, medianMs: median(times), msMax });
  console.log(`${name.padEnd(36)} ${median(times).toFixed(1).padStart(8)} ms   may take ${msMax}`);
}
saveResults({ operator: { millions, answers: operator } }, options);
if (operator.some(({ medianMs, msMax }) => medianMs > msMax)) process.exitCode = 1;

async function ask<Result>(path: string): Promise<Result> {
  const response = await fetch(base + path, { headers: { Authorization: `Bearer ${token}-operator` } });
  if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
  return (await response.json()) as Result;
}
