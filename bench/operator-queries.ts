import { table } from "./page.ts";
import { operatorTokenOf, type Server, token } from "./servers.ts";
import { median } from "./statistics.ts";

interface Page {
  readonly plants: readonly { readonly id: string; readonly name: string }[];
  readonly next?: string;
}

const rounds = 5;

/** How long complete responses of the operator listener take: pages, filters, searches, the overview. */
export async function operatorQueries(server: Server): Promise<string> {
  const ask = async <Result>(path: string): Promise<Result> => {
    const headers = { Authorization: `Bearer ${operatorTokenOf(token)}` };
    const response = await fetch(`http://127.0.0.1:${server.operatorPort}${path}`, { headers });
    if (!response.ok) throw new Error(`${path}: ${response.status} ${await response.text()}`);
    return (await response.json()) as Result;
  };
  const list = (query: string) => ask<Page>(`/api/plants?${query}`);
  // Up to the first result, which a person waits for: page by page until there is one.
  const search = async (name: string): Promise<void> => {
    const query = `name=${encodeURIComponent(name)}`;
    let page = await list(query);
    while (page.plants.length === 0 && page.next !== undefined)
      page = await list(`${query}&cursor=${page.next}`);
  };
  const oldest = (await list("order=oldest&limit=1")).plants[0];
  const queries: readonly (readonly [
    name: string,
    msMax: number | undefined,
    ask: () => Promise<unknown>,
  ])[] = [
    ["first page", 100, () => list("limit=100")],
    ["a page near the end", 100, () => list("limit=100&cursor=5000")],
    ["tag filter", 100, () => list("tag=herb&limit=100")],
    ["one plant by id", 100, () => ask(`/api/plants/${oldest?.id}`)],
    ["name search, found often", 1000, () => search("FERN")],
    // It grows with the store: a request reads for at most 0.4 s, and the next goes on from there.
    ["name search, the one oldest plant", undefined, () => search(oldest?.name ?? "")],
    ["name search, found nowhere", 1000, () => list("name=no+such+name")],
    ["overview", 300, () => ask("/api/overview")],
  ];
  const rows: (string | number)[][] = [];
  for (const [name, msMax, query] of queries) {
    const times: number[] = [];
    for (let round = 0; round <= rounds; round++) {
      const startedMs = performance.now();
      await query();
      if (round > 0) times.push(performance.now() - startedMs);
    }
    if (msMax !== undefined && median(times) > msMax) process.exitCode = 1;
    rows.push([name, median(times).toFixed(1), msMax ?? ""]);
  }
  return table(["query", "#ms", "#limit"], rows);
}
