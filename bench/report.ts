import { barChart, lineChart } from "./charts.ts";
import { type CreatePath, createPathSections } from "./report-create-path.ts";
import { type Rates, ratesSections } from "./report-rates.ts";

export interface Results extends Rates, CreatePath {
  /** When and where each section was measured. */
  readonly measured?: Readonly<Record<string, string>>;
  readonly growth?: readonly GrowthPoint[];
  readonly operator?: {
    readonly millions: number;
    readonly answers: readonly { readonly name: string; readonly medianMs: number; readonly msMax: number }[];
  };
  readonly imports?: { readonly rows: number; readonly ratio: number; readonly highestMb: number };
  readonly pauses?: FullLoad;
  /** The same for longer. */
  readonly soak?: FullLoad;
}

export interface FullLoad {
  readonly minutes: number;
  readonly plants: number;
  readonly longestSilenceMs: number;
  /** The longest silence without its waits for the disk, if those could be measured. */
  readonly withoutDiskMs?: number;
  /** And without the times in which the hypervisor did not run a core. */
  readonly withoutDiskAndStallsMs?: number;
  readonly slowestAnswerMs: number;
  /** Sampled during the run. */
  readonly memoryMb: readonly number[];
}

export interface GrowthPoint {
  readonly millions: number;
  readonly order: "sequential" | "random";
  readonly rate: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly memoryMb: number;
  readonly bytesPerPlant: number;
  readonly startMs: number;
}

/** The benchmarks page and its charts, by file name below docs/. */
export function report(results: Results): Record<string, string> {
  const { rates = {}, growth = [] } = results;
  const main = rates["64"] ?? [];
  const files: Record<string, string> = { "benchmarks.md": page(results) };
  if (main.length > 0) {
    files["benchmarks/rates.svg"] = barChart(
      "POST /plants requests per second, 64 connections",
      main.map(({ name, rate, durability }) => ({
        label: name,
        note: durability,
        value: rate,
        ours: name.startsWith("plant-store"),
      })),
    );
  }
  if (growth.length > 0) {
    const line = (order: "sequential" | "random") => ({
      label: `${order} ids`,
      points: growth
        .filter((point) => point.order === order)
        .map(({ millions, rate }) => ({ x: millions, y: rate })),
    });
    files["benchmarks/growth.svg"] = lineChart("Creates per second, by millions of plants stored", [
      line("sequential"),
      line("random"),
    ]);
  }
  return files;
}

function page(results: Results): string {
  const { measured = {}, growth = [], pauses, soak, operator, imports } = results;
  const where = (section: string): string => `Measured ${measured[section] ?? "elsewhere"}.`;
  const parts = [
    "# Benchmarks",
    "The load generator runs on the same machine. Machines differ and are noisy: trust the ratios, which are medians over interleaved\nrounds of one run, more than the rates. Each command named here prints its results, and adds them to this page with `-- --write`.",
    "## Compared with the limit and with alternatives",
    where("rates"),
    ...ratesSections(results, where),
    ...createPathSections(results, where),
  ];
  if (growth.length > 0)
    parts.push(
      "## As the store grows",
      `\`npm run bench:growth\`. ${where("growth")}`,
      "![Growth](benchmarks/growth.svg)",
      growthTable(growth),
      growthReasons,
    );
  if (pauses !== undefined || soak !== undefined) parts.push("## Pauses and memory under full load");
  if (pauses !== undefined)
    parts.push(
      `\`npm run bench:pauses\`: ${pauses.minutes} minutes of full load over 64 connections, ${whole(pauses.plants)} plants. ${underLoad(pauses)} ${where("pauses")}`,
    );
  if (soak !== undefined)
    parts.push(
      `\`npm run soak\`: ${soak.minutes} minutes of the same, ${whole(soak.plants)} plants. ${underLoad(soak)} ${where("soak")}`,
    );
  if (operator !== undefined)
    parts.push(
      `## The operator API with ${operator.millions} million plants`,
      `\`npm run bench:operator\`: median times of complete responses over HTTP, with random ids. ${where("operator")}`,
      operatorTable(operator.answers),
      operatorReasons,
    );
  if (imports !== undefined)
    parts.push(
      "## Import",
      `\`npm run bench:import\`: ${whole(imports.rows)} plants from NDJSON, one request each, are stored at ${imports.ratio.toFixed(2)} of the load generator's rate in the\nsame run. The importer needs at most ${whole(imports.highestMb)} MB, whatever the size of the file. ${where("imports")}`,
    );
  return `${parts.join("\n\n")}\n`;
}

const growthReasons = `Stores are loaded in interleaved rounds; each file is read beforehand, so that it is in the page cache if that is large
enough. Plants are stored in the order of arrival, with an index of ids. Sequential
ids go to the last page of both, so a batch of 64 rewrites a few pages at any size: that curve is flat. Random ids go
to as many index pages as there are plants in the batch, and each page is written to the WAL and later
checkpointed, which is the lower curve. It falls at first: in a small index a WAL contains the same few pages, which are checkpointed
once; in a large index nearly all are different. Then it is flat: the inner pages of the index are in the writer's
cache, and an id costs one leaf page. A separate thread checkpoints the WAL (records 10 and 14 in
\`docs/adr/\`). The start-up time does not depend on the size.`;

function underLoad(load: FullLoad): string {
  const { longestSilenceMs, withoutDiskMs, withoutDiskAndStallsMs, slowestAnswerMs, memoryMb } = load;
  const parts =
    withoutDiskMs === undefined || withoutDiskAndStallsMs === undefined
      ? ""
      : ` Without the waits\nfor the disk it was ${whole(withoutDiskMs)} ms, and without the times in which the hypervisor did not run\na core ${whole(withoutDiskAndStallsMs)} ms.`;
  return `The longest time without any\nresponse was ${whole(longestSilenceMs)} ms, the slowest response took ${whole(slowestAnswerMs)} ms.${parts} Memory during the run, in MB: ${memoryMb.map(whole).join(", ")}.`;
}

function growthTable(growth: NonNullable<Results["growth"]>): string {
  const lines = growth.map(
    ({ order, millions, rate, p50Us, p99Us, memoryMb, bytesPerPlant, startMs }) =>
      `| ${order} | ${millions} | ${whole(rate)} | ${whole(p50Us)} | ${whole(p99Us)} | ${whole(memoryMb)} | ${bytesPerPlant === 0 ? "" : bytesPerPlant.toFixed(1)} | ${whole(startMs)} |`,
  );
  return [
    "| ids | millions stored | creates/s | p50 µs | p99 µs | MB | bytes per plant | start to first 200, ms |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...lines,
  ].join("\n");
}

const operatorReasons = `Pages follow the order of arrival, and single plants use the index of ids. Each block of 1024 plants has a summary of its tags and
names; a search reads the summaries on one thread, newest first, so frequent matches are found immediately, and the oldest
plant last. Creates do not wait for any of it, since another thread writes; record 10 in \`docs/adr/\` has the cost
for a create.`;

function operatorTable(answers: NonNullable<Results["operator"]>["answers"]): string {
  const lines = answers.map(({ name, medianMs, msMax }) => `| ${name} | ${medianMs.toFixed(1)} | ${msMax} |`);
  return ["| query | ms | limit |", "| --- | ---: | ---: |", ...lines].join("\n");
}

function whole(value: number): string {
  return Math.round(value).toString();
}
