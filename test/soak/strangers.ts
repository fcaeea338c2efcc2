import { spawn } from "node:child_process";
import { join } from "node:path";
import {
  type AttackText,
  createWithNewJwt,
  forgedJwts,
  livez,
  type Provider,
  serveWithin,
  slowBodies,
  unknownKeys,
  whoAmI,
  wrongTokens,
} from "../support/attacks.ts";
import { eventually } from "../support/eventually.ts";
import { type Flood, KeptConnections, statusFrom } from "../support/flood.ts";
import { startProvider } from "../support/identity-provider.ts";
import { rawPost } from "../support/raw-http.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import type { Figures, Soak } from "./rounds.ts";

interface Attack {
  readonly what: string;
  readonly listener?: "operator";
  /** The limit of file descriptors of the service: 1024 gives 721 public connections and 103 of the operator. */
  readonly descriptors?: number;
  readonly providerHangs?: boolean;
  readonly connections: number;
  readonly text: (provider: Provider) => AttackText | Promise<AttackText>;
  readonly addresses?: readonly string[];
  /** Where the clients connect from. */
  readonly clients?: string;
  /** How many connections they keep open. */
  readonly kept?: number;
  /** Whether the kept connections are used all the time. */
  readonly keptAreBusy?: boolean;
  /** Whether new JWTs must be accepted meanwhile. */
  readonly hasJwts?: boolean;
  /** How long each of them may take. */
  readonly jwtMsMax?: number;
  /** How many of the requests must get their 200; all of them by default. */
  readonly answeredMin?: number;
}

const attackerAddress = "127.0.0.2";
const clientAddress = "127.0.0.1";
const attackMs = 20_000;
const requestsOfEachKind = 50;
const jwtCount = 24;
const jwtMsMaxDefault = 2000;
const keptDefault = 20;
const useKeptEveryMs = 1000;
const addresses200 = Array.from({ length: 200 }, (_, host) => `127.0.1.${host + 1}`);

const attacks: readonly Attack[] = [
  { what: "800 wrong opaque tokens", connections: 800, text: () => wrongTokens(40) },
  {
    what: "800 forged JWTs, 40 pipelined",
    connections: 800,
    text: (provider) => forgedJwts(provider, 40),
    hasJwts: true,
  },
  {
    what: "800 forged JWTs, clients from the same address",
    connections: 800,
    text: (provider) => forgedJwts(provider, 40),
    clients: attackerAddress,
    answeredMin: 45,
    kept: 0,
  },
  {
    what: "800 JWTs of unknown keys, 3 pipelined, the provider responds",
    connections: 800,
    text: (provider) => unknownKeys(provider, 3),
    hasJwts: true,
  },
  {
    what: "800 JWTs of unknown keys, 3 pipelined, the provider hangs",
    connections: 800,
    text: (provider) => unknownKeys(provider, 3),
    providerHangs: true,
    hasJwts: true,
  },
  {
    what: "9,700 JWTs of unknown keys at the largest limit, the provider hangs",
    descriptors: 20_000,
    connections: 9700,
    text: (provider) => unknownKeys(provider, 3),
    providerHangs: true,
    hasJwts: true,
    // A new connection can wait for one request of each other one: two seconds, on two cores that the attack shares.
    jwtMsMax: 5000,
  },
  { what: "800 slow bodies with one valid token", connections: 800, text: slowBodies },
  {
    what: "150 forged JWTs on the operator listener",
    listener: "operator",
    connections: 150,
    text: (provider) => forgedJwts(provider, 40),
    kept: 10,
  },
  {
    what: "800 forged JWTs from 200 addresses, 300 kept connections",
    connections: 800,
    text: (provider) => forgedJwts(provider, 40),
    addresses: addresses200,
    kept: 300,
    hasJwts: true,
  },
  {
    what: "800 forged JWTs from 200 addresses, 600 busy connections of one address",
    connections: 800,
    text: (provider) => forgedJwts(provider, 40),
    addresses: addresses200,
    kept: 600,
    keptAreBusy: true,
  },
];

export const strangers: Soak = {
  summary: "connections without valid credentials, or with slow bodies, beside clients that must get in",
  unit: "rounds",
  rounds: 1,
  async run({ rounds, tell }) {
    const figures: Figures[] = [];
    for (const attack of attacks) {
      const result = await attackFor(attack, rounds * attackMs);
      tell(`${attack.what}: ${result.note}`);
      figures.push(result);
    }
    return figures;
  },
};

async function attackFor(attack: Attack, durationMs: number): Promise<Figures> {
  using folder = temporaryFolder();
  await using provider = await startProvider();
  const database = join(folder.path, "plants.db");
  await using service = await serveWithin(attack.descriptors ?? 1024, folder.path, database, provider);
  const isOperator = attack.listener === "operator";
  const port = Number(new URL(isOperator ? service.operatorUrl : service.url).port);
  const from = attack.clients ?? clientAddress;
  await eventually(
    async () => (await statusFrom(from, port, await createWithNewJwt(provider, -1))) === "200",
  );
  const jwts = await Promise.all(
    Array.from({ length: jwtCount }, (_, number) => createWithNewJwt(provider, -2 - number)),
  );
  if (attack.providerHangs === true) provider.hang();

  const keptRequest = isOperator ? whoAmI : rawPost('{"id":0,"name":"kept"}');
  using kept = await KeptConnections.open(from, port, attack.kept ?? keptDefault, keptRequest);
  if (attack.keptAreBusy === true) kept.useAllTheTime();
  const used = attack.keptAreBusy === true ? undefined : setInterval(() => kept.use(), useKeptEveryMs);
  const flood = spawnFlood({
    ...(await attack.text(provider)),
    port,
    connections: attack.connections,
    addresses: attack.addresses ?? [attackerAddress],
  });
  // Until it has what it can get.
  await Bun.sleep(500);

  const creates: Promise<string>[] = [];
  const probes: Promise<string>[] = [];
  const withJwt: Promise<{ status: string; tookMs: number }>[] = [];
  for (let number = 1; number <= requestsOfEachKind; number++) {
    const request = isOperator ? whoAmI : rawPost(`{"id":${number},"name":"n"}`);
    creates.push(statusFrom(from, port, request));
    probes.push(statusFrom(from, port, livez));
    const jwt = attack.hasJwts === true && number % 2 === 0 ? jwts[number / 2 - 1] : undefined;
    if (jwt !== undefined) withJwt.push(timed(() => statusFrom(from, port, jwt)));
    await Bun.sleep(durationMs / requestsOfEachKind);
  }
  const createStatuses = await Promise.all(creates);
  const probeStatuses = await Promise.all(probes);
  const jwtResults = await Promise.all(withJwt);
  const keptClosed = kept.closed;
  clearInterval(used);
  flood.kill();

  const stored = isOperator ? 0 : storedPlants(database).length;
  const created = createStatuses.filter((status) => status === "200").length;
  const probed = probeStatuses.filter((status) => status === "200").length;
  const jwtMsMax = attack.jwtMsMax ?? jwtMsMaxDefault;
  const inTime = jwtResults.filter(({ status, tookMs }) => status === "200" && tookMs <= jwtMsMax).length;
  const slowestMs = Math.max(0, ...jwtResults.map(({ tookMs }) => tookMs));
  const jwtNote =
    attack.hasJwts === true
      ? `; ${inTime} of ${jwtCount} new JWTs, the slowest ${slowestMs.toFixed(0)} ms`
      : "";
  const note =
    `${created} of ${requestsOfEachKind} ${isOperator ? "requests" : "creates"}, ${probed} of ${requestsOfEachKind} /livez; ` +
    `${keptClosed} of ${attack.kept ?? keptDefault} kept connections closed${jwtNote}`;
  const answeredMin = attack.answeredMin ?? requestsOfEachKind;
  const holds =
    created >= answeredMin &&
    probed >= answeredMin &&
    keptClosed === 0 &&
    (attack.hasJwts !== true || inTime === jwtCount);
  const figures = {
    what: attack.what,
    rounds: durationMs / attackMs,
    acknowledged: created,
    lost: isOperator ? 0 : Math.max(0, created - stored),
    note,
  };
  return holds ? figures : { ...figures, failure: "CLIENTS WERE LOCKED OUT" };
}

function spawnFlood(flood: Flood) {
  const program = join(import.meta.dir, "../support/flood.ts");
  return spawn(process.execPath, [program, JSON.stringify(flood)], {
    stdio: ["ignore", "ignore", "inherit"],
  });
}

async function timed(request: () => Promise<string>): Promise<{ status: string; tookMs: number }> {
  const startedMs = performance.now();
  return { status: await request(), tookMs: performance.now() - startedMs };
}
