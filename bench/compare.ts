import { CaseServers, caseNames, casesNamed, measurePair, ownDisk } from "./cases.ts";
import { type Bench, MisusedError } from "./options.ts";
import { memoryMb } from "./servers.ts";
import { median, medianWithInterval } from "./statistics.ts";

const idleMs = 3000;

/** Two checkouts of this project against each other, in interleaved pairs of new processes. */
export const compare: Bench = {
  usage: `CHECKOUT [${[...caseNames, "start"].join("|")}]…`,
  summary: "this checkout against another: rate and CPU time of creates, time to start, idle memory",
  rounds: 20,
  async run({ positional: [checkout, ...names], rounds, quick }) {
    const chosen = names.length > 0 ? names : [...caseNames, "start"];
    const cases = casesNamed(chosen.filter((name) => name !== "start"));
    if (checkout === undefined) throw new MisusedError("Name the folder of the other checkout.");
    await using servers = new CaseServers();
    for (const one of cases) {
      const starts = { ours: () => servers.start(one), other: () => servers.start(one, checkout) };
      const { rates, costs } = await measurePair(one, starts, { rounds, seconds: quick ? 0.5 : 2 });
      console.log(
        `${one.name}: rate ${medianWithInterval(rates)}; CPU for each create ${medianWithInterval(costs)} of the other checkout`,
      );
    }
    if (chosen.includes("start")) await compareStarts(servers, checkout, rounds);
  },
};

/** How long the first 200 takes from the start of the process, and the memory of a service that then has nothing to do. */
async function compareStarts(servers: CaseServers, checkout: string, rounds: number): Promise<void> {
  const ours = { firstAnswerMs: [] as number[], idleMb: [] as number[] };
  const other = { firstAnswerMs: [] as number[], idleMb: [] as number[] };
  for (let round = 1; round <= rounds; round++) {
    // One at a time, and the first alternates: each has the machine to itself.
    const order = [
      [ours, undefined],
      [other, checkout],
    ] as const;
    for (const [measured, from] of round % 2 === 0 ? order : order.toReversed()) {
      await using server = await servers.start(ownDisk, from);
      measured.firstAnswerMs.push(server.firstAnswerMs);
      await Bun.sleep(idleMs);
      measured.idleMb.push(await memoryMb(server.pid));
    }
    console.error(`start, round ${round} of ${rounds}`);
  }
  const line = (what: string, pick: (measured: typeof ours) => number[], unit: string): void => {
    const ratios = pick(ours).map((value, round) => value / (pick(other)[round] ?? 1));
    const own = median(pick(ours)).toFixed(1);
    const theirs = median(pick(other)).toFixed(1);
    console.log(`${what}: ${own} ${unit} against ${theirs} ${unit}, ratio ${medianWithInterval(ratios)}`);
  };
  line("start to the first 200", ({ firstAnswerMs }) => firstAnswerMs, "ms");
  line(`memory ${idleMs / 1000} s later, idle`, ({ idleMb }) => idleMb, "MB");
}
