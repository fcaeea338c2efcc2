import { barChart, lineChart } from "./charts.ts";

export interface Row {
  readonly name: string;
  readonly durability: string;
  readonly rate: number;
  readonly ratio: number;
  readonly p50Us: number;
  readonly p99Us: number;
  readonly p999Us: number;
  readonly memoryMb: number;
  readonly cpuUsPerCreate: number | undefined;
}

export interface Results {
  readonly machine?: string;
  readonly date?: string;
  /** By number of connections. */
  readonly rates?: Readonly<Record<string, readonly Row[]>>;
  readonly halfRate?: { readonly rate: number; readonly oursP99Us: number; readonly bareP99Us: number };
  readonly fsyncsPerSecond?: number;
  readonly growth?: readonly GrowthPoint[];
  readonly operator?: {
    readonly millions: number;
    readonly answers: readonly { readonly name: string; readonly medianMs: number; readonly msMax: number }[];
  };
  readonly imports?: { readonly rows: number; readonly ratio: number; readonly highestMb: number };
  readonly pauses?: FullLoad;
  /** The same for longer, with a worker for each core. */
  readonly soak?: FullLoad;
}

export interface FullLoad {
  readonly minutes: number;
  readonly plants: number;
  readonly longestSilenceMs: number;
  readonly slowestAnswerMs: number;
  /** Along the way. */
  readonly memoryMb: readonly number[];
}

export interface GrowthPoint {
  readonly millions: number;
  readonly order: "rising" | "random";
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
      "POST /plants answered each second, 64 connections",
      main.map(({ name, rate, durability }) => ({
        label: name,
        note: durability,
        value: rate,
        ours: name.startsWith("plant-store"),
      })),
    );
  }
  if (growth.length > 0) {
    const line = (order: "rising" | "random") => ({
      label: `${order} ids`,
      points: growth
        .filter((point) => point.order === order)
        .map(({ millions, rate }) => ({ x: millions, y: rate })),
    });
    files["benchmarks/growth.svg"] = lineChart("Creates each second, by millions of plants stored", [
      line("rising"),
      line("random"),
    ]);
  }
  return files;
}

function page({
  machine,
  date,
  rates = {},
  halfRate,
  fsyncsPerSecond,
  growth = [],
  pauses,
  soak,
  operator,
  imports,
}: Results): string {
  const parts = [
    "# Benchmarks",
    `Measured on ${date}, on ${machine}, the load on the same machine. Machines differ and are noisy: believe the ratios, which\nare medians over interleaved rounds of one run, and not the rates. This page is written by the commands that it names.`,
    "## Against the limit, and against what people would pick",
    "`npm run bench`. The same load for all: keep-alive connections, distinct rising ids, a bearer token, a body of about 60\nbytes. Each peer is pinned in `bench/package.json` and does what such code does: it checks the token and the fields and, where\nit stores at all, commits each plant durably by itself (WAL, `synchronous=FULL`). None of them promises that a retry is safe or\nthat an id is exact. PostgreSQL runs on the same two cores, with its own defaults for durability, in rounds of its own with the\nsame bare `Bun.serve`. CPU and memory are those of the server's first process. The load is a process of its own and takes most\nof one core, so a second process or worker has little left to gain here; record 14 in `docs/adr/` has the figures under the\nlighter `wrk`.",
    "![Rates](benchmarks/rates.svg)",
    ...Object.entries(rates).map(([connections, rows]) => `### ${connections} connections\n\n${table(rows)}`),
  ];
  if (fsyncsPerSecond !== undefined) {
    parts.push(
      `The disk takes ${whole(fsyncsPerSecond)} writes with an fdatasync each second, one after the other. Group commit is what makes more durable\ncreates than that possible.`,
    );
  }
  if (halfRate !== undefined) {
    const { rate, oursP99Us, bareP99Us } = halfRate;
    parts.push(
      "### Latency at half of the top rate",
      `At ${whole(rate)} requests each second, 99 of 100 are answered within ${whole(oursP99Us)} µs; by a bare \`Bun.serve\` at the same rate within ${whole(bareP99Us)} µs\n(${(oursP99Us / bareP99Us).toFixed(2)} times).`,
    );
  }
  if (growth.length > 0)
    parts.push(
      "## As the store grows",
      "`npm run bench:growth`",
      "![Growth](benchmarks/growth.svg)",
      growthTable(growth),
      growthReasons,
    );
  if (pauses !== undefined || soak !== undefined) parts.push("## Pauses and memory under full load");
  if (pauses !== undefined)
    parts.push(
      `\`npm run bench:pauses\`: ${pauses.minutes} minutes of full load over 64 connections, ${whole(pauses.plants)} plants. ${underLoad(pauses)}`,
    );
  if (soak !== undefined)
    parts.push(
      `\`npm run soak\`: ${soak.minutes} minutes of the same with a worker for each core, ${whole(soak.plants)} plants. ${underLoad(soak)}`,
    );
  if (operator !== undefined)
    parts.push(
      `## The operator's side, with ${operator.millions} million plants`,
      "`npm run bench:operator`: medians of whole answers over HTTP, with ids in no order.",
      operatorTable(operator.answers),
      operatorReasons,
    );
  if (imports !== undefined)
    parts.push(
      "## Import",
      `\`npm run bench:import\`: ${whole(imports.rows)} plants from NDJSON, each a request of its own, go in at ${imports.ratio.toFixed(2)} of the rate of the plain load in the\nsame run. The importer takes at most ${whole(imports.highestMb)} MB, whatever the size of the file.`,
    );
  return `${parts.join("\n\n")}\n`;
}

const growthReasons = `The stores of one order are loaded in interleaved rounds, each file read through before, so that it is in the machine's memory
where that is large enough. Plants stand in the order of their arrival, with an index of ids. Rising
ids land on the last page of each, so a batch of 64 rewrites a few pages whatever the size: that curve is flat. Random ids land
on as many pages of their index as there are plants in the batch, and each page goes to the log as a whole, and later into the
database, which is the lower curve. It sinks at first: in a small index the pages in one log are mostly the same few and go into
the database once, in a large one nearly all are different. Then it stays: the inner pages of the index are in the writer's
cache, and an id costs the one page that it lands on. A thread of its own brings the log into the database (records 10 and 14 in
\`docs/adr/\`). Start-up does not depend on the size.`;

function table(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const cpu = row.cpuUsPerCreate === undefined ? "" : row.cpuUsPerCreate.toFixed(0);
    return `| ${row.name} | ${row.durability} | ${whole(row.rate)} | ${row.ratio.toFixed(2)} | ${whole(row.p50Us)} | ${whole(row.p99Us)} | ${whole(row.p999Us)} | ${whole(row.memoryMb)} | ${cpu} |`;
  });
  return [
    "| server | a success means | requests/s | ratio to bare Bun | p50 µs | p99 µs | p99.9 µs | MB | CPU µs each |",
    "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...lines,
  ].join("\n");
}

function underLoad({ longestSilenceMs, slowestAnswerMs, memoryMb }: FullLoad): string {
  return `The longest time without any\nanswer was ${whole(longestSilenceMs)} ms, the slowest answer took ${whole(slowestAnswerMs)} ms. Memory along the way, in MB: ${memoryMb.map(whole).join(", ")}.`;
}

function growthTable(growth: NonNullable<Results["growth"]>): string {
  const lines = growth.map(
    ({ order, millions, rate, p50Us, p99Us, memoryMb, bytesPerPlant, startMs }) =>
      `| ${order} | ${millions} | ${whole(rate)} | ${whole(p50Us)} | ${whole(p99Us)} | ${whole(memoryMb)} | ${bytesPerPlant === 0 ? "" : bytesPerPlant.toFixed(1)} | ${whole(startMs)} |`,
  );
  return [
    "| ids | millions stored | creates/s | p50 µs | p99 µs | MB | bytes a plant | start to first 200, ms |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...lines,
  ].join("\n");
}

const operatorReasons = `Pages go by the order of arrival and single plants by the index of ids. For tags and names it is written down what each window of
1024 plants holds; a search reads those, on two threads, newest first, so what is found often is found at once, and the one oldest
of all plants last. None of it is in the way of creates, which another thread writes; record 10 in \`docs/adr/\` has what it
costs a create.`;

function operatorTable(answers: NonNullable<Results["operator"]>["answers"]): string {
  const lines = answers.map(({ name, medianMs, msMax }) => `| ${name} | ${medianMs.toFixed(1)} | ${msMax} |`);
  return ["| question | ms | may take |", "| --- | ---: | ---: |", ...lines].join("\n");
}

function whole(value: number): string {
  return Math.round(value).toString();
}
