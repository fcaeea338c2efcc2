import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import { type PostgresServer, startPostgres } from "../support/postgres.ts";
import { startTcpProxy } from "../support/tcp-proxy.ts";
import { startTestService } from "../support/test-service.ts";
import { Clients, type Figures, judged, type Soak, type SoakRun, serveOn } from "./rounds.ts";

const clients = 16;
const loadedMsMax = 250;
const downMsMax = 500;
const standbyDownMsMax = 1500;
const compareEvery = 10;
const nodeCount = 3;
const cutBeforeMs = 400;

const pairs = {
  restart: "restart of PostgreSQL",
  kill: "kill -9 of PostgreSQL",
  standby: "stopped standby",
};

export const postgres: Soak = {
  summary:
    "restarts and kills PostgreSQL, stops its standby, and fails over a cluster of three nodes, all under load",
  unit: "rounds",
  rounds: 60,
  async run(run) {
    const figures: Figures[] = [];
    for (const kind of ["restart", "kill", "standby"] as const) figures.push(await runPair(kind, run));
    figures.push(await runCluster(run));
    return figures;
  },
};

/**
 * After each round every acknowledged plant must be stored; in the standby rounds, on the standby, started without its primary.
 */
async function runPair(kind: keyof typeof pairs, { rounds, random, tell }: SoakRun): Promise<Figures> {
  await using pair = await startPair();
  const { primary, standby, link, database, onStandby } = pair;
  await using service = await startTestService({ "log-level": "off", database });
  await using load = new Clients(clients, () => service.url);
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
      load.paused = true;
      await standby.start();
      await replayed(standby, onStandby);
      lost += await load.lostIn(() => standby.stored(onStandby));
      link.restore();
      load.paused = false;
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
  const note = `${load.failures} requests sent again`;
  return judged({ what: pairs[kind], rounds, acknowledged: load.acknowledged, lost, note });
}

/** Resolves once the standby has replayed all that it has received: in a tenth of a second it has replayed nothing more. */
async function replayed(standby: PostgresServer, database: string): Promise<void> {
  let last = "";
  const hasEnded = async () => {
    const sql = "SELECT pg_last_wal_replay_lsn()::text AS lsn";
    const [row] = await standby.run<{ lsn: string }>(sql, database);
    const isSame = row?.lsn === last;
    last = row?.lsn ?? "";
    return isSame;
  };
  await eventually(hasEnded, "the standby to replay what it received", 100);
}

/**
 * Three nodes on a primary with a synchronous standby, and clients that know all of them. Each node is killed with -9 and started
 * again; the primary is killed with -9 and the standby promoted. Every acknowledged plant must be on the new primary.
 */
export async function runCluster({ rounds, random, tell }: SoakRun): Promise<Figures> {
  let acknowledged = 0;
  let lost = 0;
  let silenceMs = 0;
  for (let round = 1; round <= rounds; round++) {
    await using pair = await startPair();
    const { primary, standby, link, database, onStandby } = pair;
    const both = database.replace(`:${primary.port}/`, `:${primary.port},127.0.0.1:${standby.port}/`);
    const ports = Array.from({ length: nodeCount }, freePort);
    const startNode = (port: number) => serveOn(both, { PLANT_STORE_LISTEN: `127.0.0.1:${port}` });
    const nodes = await Promise.all(ports.map(startNode));
    await using load = new Clients(clients, () => nodes[Math.floor(random() * nodeCount)]?.url);
    const replaceNodes = async (): Promise<void> => {
      for (const [index, port] of ports.entries()) {
        await load.acknowledgedAgain();
        await nodes[index]?.[Symbol.asyncDispose]();
        nodes[index] = await startNode(port);
      }
    };
    await replaceNodes();
    await load.acknowledgedAgain();
    // Later commits of the primary never reach the standby, so none of them may be acknowledged.
    link.cut();
    await Bun.sleep(cutBeforeMs);
    await primary.crash();
    await standby.run("SELECT pg_promote()");
    await replaceNodes();
    await load.acknowledgedAgain();
    await load.stop();
    for (const node of nodes) await node[Symbol.asyncDispose]();
    acknowledged += load.acknowledged;
    lost += await load.lostIn(() => standby.stored(onStandby));
    silenceMs = Math.max(silenceMs, Math.round(load.silenceMs));
    tell(`cluster: round ${round} of ${rounds}: ${acknowledged} acknowledged, ${lost} lost`);
  }
  const note = `silent for at most ${silenceMs} ms`;
  return judged({ what: "failover of a cluster", rounds, acknowledged, lost, note });
}

/** A primary with a synchronous standby behind a link that can be cut. */
export async function startPair(settings: Record<string, string> = {}) {
  await using stack = new AsyncDisposableStack();
  const primary = stack.use(await startPostgres({ settings }));
  const database = await primary.newDatabase();
  const link = stack.use(await startTcpProxy(primary.port));
  const ofStandby = {
    ...settings,
    primary_conninfo: `host=127.0.0.1 port=${link.port} user=postgres`,
    wal_retrieve_retry_interval: "100ms",
  };
  const standby = stack.use(await startPostgres({ standbyOf: primary, settings: ofStandby }));
  await primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await primary.run("SELECT pg_reload_conf()");
  const onStandby = database.replace(`:${primary.port}/`, `:${standby.port}/`);
  const servers = stack.move();
  const dispose = () => servers.disposeAsync();
  return { primary, standby, link, database, onStandby, [Symbol.asyncDispose]: dispose };
}
