import type { PocketBaseFacts } from "./pocketbase.ts";

export interface Row {
  readonly name: string;
  readonly durability: string;
  readonly rate: number;
  /** To a bare Bun.serve of one process. */
  readonly ratio: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
  readonly memoryMb: number;
  readonly cpuUsPerCreate: number | undefined;
  /** How much of a core the load generator used. */
  readonly loadCores?: number;
}

export interface Rates {
  /** By number of connections. */
  readonly rates?: Readonly<Record<string, readonly Row[]>>;
  /** The same with headers that differ in each request. */
  readonly differing?: Readonly<Record<string, readonly Row[]>>;
  readonly halfRate?: { readonly rate: number; readonly oursP99Us: number; readonly bareP99Us: number };
  readonly fsyncsPerSecond?: number;
  readonly pocketBase?: PocketBaseFacts | undefined;
  /** By the time of an fsync. */
  readonly disks?: readonly DiskRatio[];
}

export interface DiskRatio {
  readonly disk: string;
  readonly connections: number;
  readonly headers: string;
  readonly ratio: number;
  readonly lowest: number;
  readonly highest: number;
}

const method = `\`npm run bench\`. The same load for all: keep-alive connections, distinct sequential ids, a bearer token, a body of about 60
bytes. Each alternative is pinned in \`bench/package.json\` and is written in the usual way: it checks the token and the fields and, if
it stores plants, commits each one durably (WAL, \`synchronous=FULL\`) unless the table says otherwise. None of them guarantees safe
retries or exact ids. PostgreSQL runs on the same cores, with its default durability, in separate rounds with the
same bare \`Bun.serve\`. CPU and memory are those of the server's first process; "load" is how much of a core the load generator
uses.`;

export function ratesSections(
  { rates = {}, differing = {}, ...more }: Rates,
  where: (section: string) => string,
): string[] {
  const { fsyncsPerSecond, halfRate, pocketBase, disks = [] } = more;
  const sections = [method, "![Rates](benchmarks/rates.svg)"];
  for (const [connections, rows] of Object.entries(rates))
    sections.push(`### ${connections} connections`, table(rows));
  if (
    Object.values(rates)
      .flat()
      .some(({ loadCores }) => loadCores === undefined)
  )
    sections.push(heavyLoad);
  if (pocketBase !== undefined) sections.push(pocketBaseText(pocketBase));
  for (const [connections, rows] of Object.entries(differing))
    sections.push(
      `### ${connections} connections, headers that differ`,
      "Each request has another `X-Request-Id` and `traceparent`, as proxies and tracers send them.",
      table(rows),
    );
  if (fsyncsPerSecond !== undefined)
    sections.push(
      `The disk does ${whole(fsyncsPerSecond)} sequential writes with fdatasync per second. Group commit makes more durable\ncreates than that possible.`,
    );
  if (halfRate !== undefined) {
    const { rate, oursP99Us, bareP99Us } = halfRate;
    sections.push(
      "### Latency at half the maximum rate",
      `At ${whole(rate)} requests per second, the 99th percentile is ${whole(oursP99Us)} µs; that of a bare \`Bun.serve\` at the same rate is ${whole(bareP99Us)} µs\n(${(oursP99Us / bareP99Us).toFixed(2)} times).`,
    );
  }
  if (disks.length > 0)
    sections.push("### By the time of an fsync", `${disksText} ${where("disks")}`, disksTable(disks));
  return sections;
}

const heavyLoad = `Where "load" is empty, the load generator was an older one that used most of a core, so a faster server could gain
little; record 14 in \`docs/adr/\` has measurements with the lighter \`wrk\`.`;

const disksText = `\`npm run bench:disks\`: the data is in memory, and each fsync is made to take that long; "own disk" is this machine's. Only our own
service is measured so, since the delay replaces a function of libc, which programs in Go do not call.`;

function pocketBaseText({ version, synchronous, sent, returned }: PocketBaseFacts): string {
  const durability =
    synchronous === "NORMAL"
      ? "a commit is not fsynced, and a power loss may undo creates that were answered"
      : "each commit is fsynced";
  return `PocketBase ${version}, the release that npm has, is measured through its own record API with a signed-in user. It opens SQLite with
\`synchronous=${synchronous}\`: ${durability}. The number ${sent} comes back from it
as ${returned}.`;
}

function disksTable(disks: readonly DiskRatio[]): string {
  const lines = disks.map(
    ({ disk, connections, headers, ratio, lowest, highest }) =>
      `| ${disk} | ${connections} | ${headers} | ${ratio.toFixed(2)} | ${lowest.toFixed(2)} to ${highest.toFixed(2)} |`,
  );
  return [
    "| fsync | connections | headers | ratio to bare Bun | rounds |",
    "| --- | ---: | --- | ---: | ---: |",
    ...lines,
  ].join("\n");
}

function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const cpu = row.cpuUsPerCreate?.toFixed(0) ?? "";
    return `| ${row.name} | ${row.durability} | ${whole(row.rate)} | ${row.ratio.toFixed(2)} | ${whole(row.p50Us)} | ${whole(row.p99Us)} | ${whole(row.p999Us)} | ${whole(row.memoryMb)} | ${cpu} | ${row.loadCores?.toFixed(2) ?? ""} |`;
  });
  return [
    "| server | a success means | requests/s | ratio to bare Bun | p50 µs | p99 µs | p99.9 µs | MB | CPU µs per request | load |",
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...lines,
  ].join("\n");
}

function whole(value: number): string {
  return Math.round(value).toString();
}
