import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { PlantStoreClient, ServiceRefused, ServiceUnreachable } from "../../src/client/plant-store-client.ts";
import { minuteMs } from "../../src/text/duration.ts";
import { type Serving, serve, startPlantStore } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/free-port.ts";
import type { PostgresServer } from "../support/postgres.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { bothTokensEnvironment, operatorToken } from "../support/tokens.ts";
import { startPair } from "./postgres.ts";
import { Clients, type Figures, type Soak, type SoakRun } from "./rounds.ts";

const clients = 16;
const pollMs = 500;
const calmMs = 20_000;
const killsPerMinute = 10;
const completeMsMax = 3 * minuteMs;
const nodeEnvironment = { ...bothTokensEnvironment, PLANT_STORE_LOG_REQUESTS: "none" };
const settings = { max_prepared_transactions: "20" };

export const follow: Soak = {
  summary:
    "follows PostgreSQL while transactions are held, nodes stop and the server crashes and fails over; kills `follow` into a file",
  unit: "minutes",
  rounds: 20,
  run: async (run) => [await onPostgres(run), await intoFile(run)],
};

/** A client that follows the store, and what it got, in its order. */
class Follower {
  readonly name: string;
  readonly ids: string[] = [];
  /** How old each plant was when it came, by this machine's clock, which is the server's too. */
  readonly agesMs: number[] = [];
  readonly #urls: () => readonly string[];
  readonly #restartMsMax: number;
  readonly #random: () => number;
  #cursor = "0";
  #isStopped = false;
  readonly #running: Promise<void>;

  /** It restarts after at most that long, and each time on another of the nodes. */
  constructor(name: string, urls: () => readonly string[], restartMsMax: number, random: () => number) {
    this.name = name;
    this.#urls = urls;
    this.#restartMsMax = restartMsMax;
    this.#random = random;
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    for (let turn = 0; !this.#isStopped; turn++) {
      const urls = this.#urls();
      const baseUrl = urls[turn % urls.length] ?? "";
      const client = new PlantStoreClient({ baseUrl, token: operatorToken, attemptsMax: 1, timeoutMs: 5000 });
      const endsMs = performance.now() + this.#restartMsMax * this.#random();
      try {
        for await (const page of client.followPlants({ after: this.#cursor, everyMs: pollMs })) {
          const nowMs = Date.now();
          for (const { id, createdAt } of page.plants) {
            this.ids.push(id);
            this.agesMs.push(nowMs - Date.parse(createdAt));
          }
          // Both lead on.
          this.#cursor = (this.#random() < 0.5 ? page.plants.at(-1)?.cursor : undefined) ?? page.next;
          if (this.#isStopped || performance.now() > endsMs) break;
        }
      } catch (error) {
        const mayPass =
          error instanceof ServiceUnreachable || (error instanceof ServiceRefused && error.status >= 500);
        if (!mayPass) throw error;
        await Bun.sleep(100);
      }
    }
  }
}

/** Two nodes on a primary with a synchronous standby, three followers, and whoever keeps a plant from being committed. */
export async function onPostgres({ rounds: minutes, random, tell }: SoakRun): Promise<Figures> {
  const what = "following PostgreSQL";
  await using pair = await startPair(settings);
  const { primary, standby, link, database } = pair;
  await primary.run("CREATE ROLE other SUPERUSER LOGIN");
  await primary.run("ALTER ROLE other SET track_activities = off");
  const both = database.replace(`:${primary.port}/`, `:${primary.port},127.0.0.1:${standby.port}/`);
  await using nodes = new AsyncDisposableStack();
  const started: Serving[] = [];
  for (const _ of [1, 2])
    started.push(nodes.use(await serve(nodeFlags(both), { environment: nodeEnvironment })));
  const [first, second] = started as [Serving, Serving];
  await using load = new Clients(clients, () => started[Math.floor(random() * 2)]?.url);
  const disturber = new Disturber(primary, database, random);

  // Normal load first, in which the delay is measured.
  const fromStart = new Follower(
    "from the start, on one node",
    () => [first.operatorUrl],
    Number.POSITIVE_INFINITY,
    random,
  );
  await load.acknowledgedAgain();
  await Bun.sleep(calmMs);
  const agesMs = fromStart.agesMs.toSorted((one, other) => one - other);
  const delay = `p50 ${ageAt(agesMs, 0.5)} ms, p99 ${ageAt(agesMs, 0.99)} ms`;
  const followers = [
    fromStart,
    new Follower("restarted", () => [second.operatorUrl], 10_000, random),
    new Follower("changes nodes", () => [first.operatorUrl, second.operatorUrl], 10_000, random),
  ];

  const startedMs = performance.now();
  const share = () => (performance.now() - startedMs) / (minutes * minuteMs);
  let events = 0;
  let isPromoted = false;
  while (share() < 1) {
    await Bun.sleep(4000 * random());
    const dice = random();
    if (!isPromoted && share() > 0.75) {
      // What is committed from here on never reaches the standby, so it is not acknowledged.
      link.cut();
      await Bun.sleep(1000);
      await primary.crash();
      await standby.run("SELECT pg_promote()");
      disturber.moveTo(standby, pair.onStandby);
      isPromoted = true;
    } else if (dice < 0.5) disturber.hold(1000 + 59_000 * random() ** 3);
    else if (dice < 0.7) disturber.prepare(1000 + 9000 * random());
    else if (dice < 0.85) await disturber.pauseProcess(started[events % 2] as Serving, 15_000 * random());
    else await disturber.restartServer();
    events++;
    if (events % 20 === 0)
      tell(`${events} disturbances, ${load.acknowledged} acknowledged, ${fromStart.ids.length} followed`);
  }
  await disturber.end();
  await load.acknowledgedAgain();
  await load.stop();

  const rows = await disturber.run<{ id: string }>(
    "SELECT id::text FROM plants ORDER BY created_at_ms, plants.id",
  );
  const stored = rows.map(({ id }) => id);
  const isComplete = () => followers.every(({ ids }) => ids.length >= stored.length);
  const deadlineMs = performance.now() + completeMsMax;
  while (!isComplete() && performance.now() < deadlineMs) await Bun.sleep(pollMs);
  for (const follower of followers) await follower.stop();
  const problems = followers.flatMap((follower) => problemsOf(follower, stored));
  const lost = await load.lostIn(() => disturber.stored());
  return {
    what,
    rounds: minutes,
    acknowledged: load.acknowledged,
    lost,
    note: `${events} disturbances, ${disturber.held} plants held; delay ${delay}`,
    ...(problems.length + lost > 0 ? { failure: problems.join("; ") || "acknowledged plants are lost" } : {}),
  };
}

function nodeFlags(database: string): string[] {
  return ["--database", database, "--operator-listen", `127.0.0.1:${freePort()}`];
}

function ageAt(sorted: readonly number[], share: number): number {
  return sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
}

/** How what a follower got differs from the store, in which nothing is stored any more. */
function problemsOf({ name, ids }: Follower, stored: readonly string[]): string[] {
  const got = new Set(ids);
  const missed = stored.filter((id) => !got.has(id)).length;
  const twice = ids.length - got.size;
  const isInOrder = missed > 0 || twice > 0 || ids.every((id, index) => id === stored[index]);
  const problems = [
    ...(missed > 0 ? [`${missed} missed`] : []),
    ...(twice > 0 ? [`${twice} twice`] : []),
    ...(isInOrder ? [] : ["in another order"]),
  ];
  return problems.length === 0 ? [] : [`${name}: ${problems.join(", ")} of ${stored.length}`];
}

/** Whoever else writes to the database, and what happens to its server and nodes. */
class Disturber {
  /** How many plants were committed late. */
  held = 0;
  readonly #random: () => number;
  readonly #running = new Set<Promise<void>>();
  #server: PostgresServer;
  #database: string;
  #names = 0;

  constructor(server: PostgresServer, database: string, random: () => number) {
    this.#server = server;
    this.#database = database;
    this.#random = random;
  }

  run<Row extends pg.QueryResultRow>(sql: string): Promise<Row[]> {
    return this.#server.run<Row>(sql, this.#database);
  }

  stored() {
    return this.#server.stored(this.#database);
  }

  moveTo(server: PostgresServer, database: string): void {
    this.#server = server;
    this.#database = database;
  }

  /** Stores a plant as a node does, and commits it late, by the role of the nodes or another. A crash takes it away. */
  hold(forMs: number): void {
    const role = this.#random() < 0.5 ? "postgres" : "other";
    this.#begin(async (client) => {
      await client.query(`BEGIN; ${insertOne(this.#name())}`);
      await Bun.sleep(forMs);
      await client.query("COMMIT");
      this.held++;
    }, role);
  }

  /** A prepared transaction survives crashes. */
  prepare(forMs: number): void {
    const name = this.#name();
    this.#begin(async (client) => {
      await client.query(`BEGIN; ${insertOne(name)}; PREPARE TRANSACTION '${name}'`);
      await Bun.sleep(forMs);
      // A forgotten one would keep every follower waiting.
      await eventually(
        () => this.#commitPrepared(name).then(() => true),
        "a prepared transaction to be committed",
        100,
      );
    });
  }

  async pauseProcess({ child }: Serving, forMs: number): Promise<void> {
    child.kill("SIGSTOP");
    await Bun.sleep(forMs);
    child.kill("SIGCONT");
  }

  async restartServer(): Promise<void> {
    await this.#server.stop("immediate");
    await Bun.sleep(500 * this.#random());
    await this.#server.start();
  }

  /** Ends every transaction of its own. */
  async end(): Promise<void> {
    await Promise.all(this.#running);
    const left = await this.run<{ gid: string }>("SELECT gid FROM pg_prepared_xacts");
    for (const { gid } of left) await this.#commitPrepared(gid);
  }

  #name(): string {
    this.#names++;
    return `held${this.#names}`;
  }

  #begin(work: (client: pg.Client) => Promise<void>, role = "postgres"): void {
    const running = this.#inSession(work, role).catch(() => {});
    this.#running.add(running);
    void running.then(() => this.#running.delete(running));
  }

  async #inSession(work: (client: pg.Client) => Promise<void>, role: string): Promise<void> {
    const client = new pg.Client({ connectionString: this.#database.replace("//postgres@", `//${role}@`) });
    client.on("error", () => {});
    await client.connect();
    try {
      await work(client);
    } finally {
      await client.end().catch(() => {});
    }
  }

  async #commitPrepared(name: string): Promise<void> {
    await this.run(`COMMIT PREPARED '${name}'`);
    this.held++;
  }
}

/** As a node stores one: the transaction has its id before the plant has its time. */
function insertOne(name: string): string {
  return `INSERT INTO plants (id, name, created_at_ms, created_by)
    SELECT (random() * 1e15)::bigint, '${name}',
           CASE WHEN pg_current_xact_id() > '0'::xid8 THEN floor(date_part('epoch', clock_timestamp()) * 1000)::bigint END, 'held'`;
}

/** Kills `plant-store follow --output FILE` again and again under load, and compares the file with the store. */
async function intoFile({ rounds: minutes, random, tell }: SoakRun): Promise<Figures> {
  using folder = temporaryFolder();
  const database = join(folder.path, "plants.db");
  const output = join(folder.path, "plants.ndjson");
  const kills = Math.ceil(minutes * killsPerMinute);
  await using service = await serve(["--database", database, "--operator-listen", "127.0.0.1:0"], {
    environment: nodeEnvironment,
  });
  await using load = new Clients(clients, () => service.url);
  const flags = ["follow", "--url", service.operatorUrl, "--output", output];
  const environment = { PLANT_STORE_ACCESS_TOKEN: operatorToken };
  for (let round = 1; round <= kills; round++) {
    await load.acknowledgedAgain();
    const before = sizeOf(output);
    await using _ = startPlantStore([...flags, "--every", "100ms"], { environment });
    await eventually(() => sizeOf(output) !== before, "the file to change");
    // The disposal kills it with -9.
    await Bun.sleep(300 * random());
    if (round % 20 === 0) tell(`killed ${round} times, ${load.acknowledged} acknowledged`);
  }
  await load.stop();
  const last = await startPlantStore([...flags, "--once"], { environment }).ended;
  const lines = readFileSync(output, "utf8").split("\n").slice(0, -1);
  const ids = lines.map((line) => /^\{"id":(-?\d+),.*,"cursor":"[^"]+"\}$/.exec(line)?.[1] ?? "half a line");
  await service[Symbol.asyncDispose]();
  const stored = storedPlants(database).map(({ id }) => String(id));
  const got = new Set(ids);
  const missed = stored.filter((id) => !got.has(id)).length;
  const problem = `exit code ${last.code}, ${missed} missed, ${ids.length - got.size} twice, ${got.has("half a line") ? "half lines" : "no half line"}`;
  const isRight = last.code === 0 && missed === 0 && ids.length === stored.length && !got.has("half a line");
  return {
    what: `kill -9 of follow into a file, ${kills} times`,
    rounds: minutes,
    acknowledged: load.acknowledged,
    lost: await load.lostIn(() => storedPlants(database)),
    note: "0 missed, 0 twice, 0 half lines",
    ...(isRight ? {} : { failure: problem }),
  };
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0;
}
