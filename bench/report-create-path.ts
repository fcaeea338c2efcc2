/** Where the time of a create goes. */
export interface CreatePath {
  readonly stages?: Stages;
  readonly ids?: readonly IdOrderCost[];
}

export interface Stages {
  readonly batch: number;
  readonly stages: readonly Stage[];
  /** Of the whole process under load. */
  readonly cpuUsPerCreate: number;
}

export interface Stage {
  readonly name: string;
  readonly what: string;
  readonly us: number;
  /** It replaces another stage, and is not part of the sum. */
  readonly isAlternative?: boolean;
}

/** What plants cost the WAL and the data file, without checkpoints in between. */
export interface IdOrderCost {
  readonly order: "sequential" | "random";
  readonly millions: number;
  readonly batch: number;
  readonly framesPerPlant: number;
  /** Of these frames, leaves of the index of ids. */
  readonly indexLeavesPerPlant: number;
  /** How many of them a batch of such ids is expected to change. */
  readonly expectedLeavesPerPlant: number;
  readonly walBytesPerPlant: number;
  readonly walBytesPerFsync: number;
  /** What checkpoints write to the data file. */
  readonly pagesPerPlant: number;
  readonly insertUs: number;
  readonly commitUs: number;
}

export function createPathSections(
  { stages, ids = [] }: CreatePath,
  where: (section: string) => string,
): string[] {
  const sections: string[] = [];
  if (stages !== undefined)
    sections.push(
      "## Where the time of a create goes",
      `\`npm run bench:stages\` calls the service's own functions in a loop. ${where("stages")}`,
      stagesTable(stages),
      "The flame graph is of a service under full load over 64 connections: its JavaScript and what that calls, by samples. The event loop\nwaiting, and receiving from sockets, are not sampled. Each bar is called by the one above it; the file itself has each bar's share as a\ntooltip.",
      "![Flame graph of a loaded service](benchmarks/flame-graph.svg)",
    );
  if (ids.length > 0)
    sections.push(
      "## Why random ids are slower",
      `\`npm run bench:ids\`. ${where("ids")}`,
      idsTable(ids),
      idReasons,
    );
  return sections;
}

const idReasons = `A WAL frame is one page of 4096 bytes, whatever changed in it. Plants are stored in the order of arrival, so both orders fill the
same pages of the table; the index of ids makes the difference. A sequential id goes to the last leaf of the index, which the
whole batch shares. A random id goes to any leaf: once there are far more leaves than plants in a batch, nearly each plant changes a
leaf of its own, and that leaf goes to the WAL, into the fsync, and later to the data file. "Floor" is the number of leaves that such
a batch is expected to change, L·(1−(1−1/L)^b)/b for b ids and L leaves: no index of ids in the same file writes fewer. The index
finds a replay or a conflict after a crash, so it is as durable as the plants. What is above the floor are splits of leaves and the
summaries of blocks. Larger batches share an fsync; they share leaves only while the index has few.`;

function stagesTable({ batch, stages, cpuUsPerCreate }: Stages): string {
  const sum = stages.reduce((total, { us, isAlternative }) => total + (isAlternative ? 0 : us), 0);
  const lines = stages.map(({ name, what, us }) => `| ${name} | ${what} | ${us.toFixed(2)} |`);
  return [
    `| stage | what it does, in batches of ${batch} | CPU µs per create |`,
    "| --- | --- | ---: |",
    ...lines,
    `| rest | what connects the stages, metrics, checkpoints, garbage collection | ${Math.max(0, cpuUsPerCreate - sum).toFixed(2)} |`,
    `| all | the process under load | ${cpuUsPerCreate.toFixed(2)} |`,
  ].join("\n");
}

function idsTable(ids: readonly IdOrderCost[]): string {
  const lines = ids.map((cost) => {
    const numbers = [
      cost.framesPerPlant.toFixed(2),
      cost.indexLeavesPerPlant.toFixed(2),
      cost.expectedLeavesPerPlant.toFixed(2),
      cost.walBytesPerPlant.toFixed(0),
      cost.walBytesPerFsync.toFixed(0),
      cost.pagesPerPlant.toFixed(2),
      cost.insertUs.toFixed(1),
      cost.commitUs.toFixed(1),
    ];
    return `| ${cost.order} | ${cost.millions} | ${cost.batch} | ${numbers.join(" | ")} |`;
  });
  return [
    "| ids | millions stored | batch | WAL frames per plant | index leaves | floor | WAL bytes per plant | bytes per fsync | data pages per plant | insert µs | commit µs |",
    "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ...lines,
  ].join("\n");
}
