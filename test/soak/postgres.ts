import { eventually, startTestService } from "../harness.ts";
import type { PostgresServer } from "../postgres.ts";
import { runCluster, startPair } from "./cluster.ts";
import { Clients, type Figures, judged, type Soak, type SoakRun } from "./rounds.ts";

type Kind = "restart" | "kill" | "standby";

const clients = 16;
const loadedMsMax = 250;
const downMsMax = 500;
const standbyDownMsMax = 1500;
const compareEvery = 10;

export const postgres: Soak = {
  summary:
    "restarts and kills PostgreSQL, stops its standby, and fails over a cluster of three nodes, all under load",
  unit: "rounds",
  rounds: 60,
  async run(run) {
    const figures: Figures[] = [];
    for (const kind of ["restart", "kill", "standby"] as const) figures.push(await runPair(kind, run));
    return [...figures, await runCluster({ ...run, rounds: Math.ceil(run.rounds / 20) })];
  },
};

/** After each round every acknowledged plant must be stored; in the standby rounds, on the standby, started without its primary. */
async function runPair(kind: Kind, { rounds, random, tell }: SoakRun): Promise<Figures> {
  await using pair = await startPair();
  const { primary, standby, link, database, onStandby } = pair;
  await using running = await startTestService({ "log-level": "off" }, database);
  await using load = new Clients(clients, () => running.url);
  let lost = 0;
  for (let round = 1; round <= rounds; round++) {
    await load.acknowledgedAgain();
    await Bun.sleep(loadedMsMax * random());
    if (kind === "standby") {
      const graceful = round % 2 === 0;
      if (!graceful) link.cut();
      await standby.stop(graceful ? "fast" : "immediate");
      link.cut();
      // Whatever is acknowledged meanwhile must be on the standby too.
      await Bun.sleep(standbyDownMsMax * random());
      load.pause();
      await standby.start();
      await replayed(standby, onStandby);
      lost += await load.lostIn(() => standby.stored(onStandby));
      link.restore();
      load.resume();
    } else {
      if (kind === "kill") await primary.crash();
      else await primary.stop(round % 2 === 0 ? "fast" : "immediate");
      await Bun.sleep(downMsMax * random());
      await primary.start();
      if (round % compareEvery === 0) lost += await load.lostIn(() => primary.stored(database));
    }
    if (round % compareEvery === 0)
      tell(`${kind}: round ${round}, ${load.acknowledged} acknowledged, ${lost} lost`);
  }
  await load.acknowledgedAgain();
  await load.stop();
  lost += await load.lostIn(() => primary.stored(database));
  const what = {
    restart: "restart of PostgreSQL",
    kill: "kill -9 of PostgreSQL",
    standby: "stopped standby",
  }[kind];
  const note = `${load.failures} requests sent again`;
  return judged({ what, rounds: String(rounds), acknowledged: load.acknowledged, lost, note });
}

/** Resolves once the standby has replayed all that it has received. */
async function replayed(standby: PostgresServer, database: string): Promise<void> {
  let last = "";
  await eventually(async () => {
    const sql = "SELECT pg_last_wal_replay_lsn()::text AS lsn";
    const [row] = await standby.run<{ lsn: string }>(sql, database);
    const same = row?.lsn === last;
    last = row?.lsn ?? "";
    if (!same) await Bun.sleep(100);
    return same;
  }, "the standby to replay what it received");
}
