// npm run soak:postgres -- [ROUNDS] [restart|kill|standby]     100 rounds of each by default
// A loaded service on PostgreSQL with a synchronous standby, and a record of every acknowledged plant. In each round
// the server is restarted, or killed with -9, or its standby is stopped. After each round every acknowledged plant must be
// stored unchanged; in the standby rounds, on the standby, started without its primary.
import { accessToken, eventually, post, startTestService } from "./harness.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";
import { startTcpProxy } from "./tcp-proxy.ts";

const kinds = ["restart", "kill", "standby"] as const;
type Kind = (typeof kinds)[number];

const clients = 16;
const loadMs = 250;
const downMsMax = 500;
const standbyDownMsMax = 1500;
const backWithinMs = 30_000;

const rounds = Number(process.argv[2] ?? 100);
const chosen = kinds.filter((kind) => process.argv[3] === undefined || process.argv[3] === kind);
let failed = false;
for (const kind of chosen) {
  const { acknowledged, refused, missing, different } = await soak(kind);
  failed ||= missing + different > 0;
  console.log(
    `${kind}: ${rounds} rounds, ${acknowledged} acknowledged, ${refused} refused, ${missing} missing, ${different} different`,
  );
}
process.exit(failed ? 1 : 0);

async function soak(kind: Kind) {
  await using primary = await startPostgres();
  const database = await primary.newDatabase();
  using link = await startTcpProxy(primary.port);
  const settings = {
    primary_conninfo: `host=127.0.0.1 port=${link.port} user=postgres`,
    wal_retrieve_retry_interval: "100ms",
  };
  await using standby = await startPostgres({ standbyOf: primary, settings });
  await primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await primary.run("SELECT pg_reload_conf()");
  await using running = await startTestService({ "log-level": "off" }, database);
  const onStandby = database.replace(`:${primary.port}/`, `:${standby.port}/`);
  const load = startLoad(running.url);
  const problems = { missing: new Set<string>(), different: new Set<string>() };

  const compare = async (server: PostgresServer, place: string): Promise<void> => {
    // The query may not see plants that are acknowledged after this.
    const acknowledged = new Map(load.ledger);
    const stored = new Map((await server.stored(place)).map(({ id, name }) => [String(id), name]));
    for (const [id, name] of acknowledged) {
      const found = stored.get(id);
      if (found === undefined) problems.missing.add(id);
      else if (found !== name) problems.different.add(id);
    }
  };
  for (let round = 1; round <= rounds; round++) {
    await Bun.sleep(loadMs * (0.5 + Math.random()));
    if (kind === "standby") {
      // It stops, starts without its primary, and must have every plant acknowledged before and meanwhile.
      const graceful = round % 2 === 0;
      if (!graceful) link.cut();
      await standby.stop(graceful ? "fast" : "immediate");
      link.cut();
      await Bun.sleep(standbyDownMsMax * Math.random());
      load.pause();
      await standby.start();
      await replayed(standby, onStandby);
      await compare(standby, onStandby);
      link.restore();
      load.resume();
    } else {
      if (kind === "kill") await primary.crash();
      else await primary.stop(round % 2 === 0 ? "fast" : "immediate");
      await Bun.sleep(downMsMax * Math.random());
      await primary.start();
      if (round % 10 === 0 || round === rounds) await compare(primary, database);
    }
    await load.acknowledgesAgain();
    if (round % 10 === 0)
      console.error(
        `${kind}: round ${round}, ${load.ledger.size} acknowledged, ${problems.missing.size} missing`,
      );
  }
  await load.stop();
  await compare(primary, database);
  const { missing, different } = problems;
  return {
    acknowledged: load.ledger.size,
    refused: load.refused(),
    missing: missing.size,
    different: different.size,
  };
}

/** Resolves once the standby has replayed all that it has received. */
async function replayed(standby: PostgresServer, database: string): Promise<void> {
  let last = "";
  await eventually(async () => {
    const [row] = await standby.run<{ lsn: string }>(
      "SELECT pg_last_wal_replay_lsn()::text AS lsn",
      database,
    );
    const same = row?.lsn === last;
    last = row?.lsn ?? "";
    if (!same) await Bun.sleep(100);
    return same;
  }, backWithinMs);
}

/** Clients that send their own plants, each until it is acknowledged. */
function startLoad(url: string) {
  const ledger = new Map<string, string>();
  let next = 0n;
  let refused = 0;
  let stopped = false;
  let paused = false;
  const client = async (): Promise<void> => {
    while (!stopped) {
      // Spread over all of int64, so that rows go to every page of the index.
      const id = String(BigInt.asIntN(64, next++ * 0x9e3779b97f4a7c15n));
      const name = `plant ${id}`;
      while (!stopped) {
        if (paused) {
          await Bun.sleep(10);
          continue;
        }
        const { status } = await post(url, `{"id":${id},"name":${JSON.stringify(name)}}`, {
          Authorization: `Bearer ${accessToken}`,
        });
        if (status === 200) {
          ledger.set(id, name);
          break;
        }
        if (status !== 503) throw new Error(`a plant was answered with ${status}`);
        refused++;
        await Bun.sleep(20);
      }
    }
  };
  const all = Array.from({ length: clients }, client);
  return {
    ledger,
    refused: () => refused,
    pause() {
      paused = true;
    },
    resume() {
      paused = false;
    },
    async acknowledgesAgain() {
      const before = ledger.size;
      await eventually(() => ledger.size > before + clients, backWithinMs);
    },
    async stop() {
      stopped = true;
      await Promise.all(all);
    },
  };
}
