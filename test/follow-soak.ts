// npm run soak:follow -- 20 10
// Follows a service to a data file, a folder and a second service: 20 seconds at half of the full rate, and how far the copy is
// behind; then 10 rounds in which either side is killed with -9 under load, and whether the copy is equal. On an idle machine a copy is
// at most a second behind.
import { Database } from "bun:sqlite";
import { closeSync, fstatSync, openSync, readdirSync, readSync } from "node:fs";
import { join } from "node:path";
import { load, median, startOursOn, token } from "../bench/servers.ts";
import { startPlantStore } from "./command.ts";
import { type FollowRounds, followThroughKills } from "./follow-rounds.ts";
import { temporaryFolder } from "./harness.ts";

const [seconds, rounds] = [Number(process.argv[2] ?? 20), Number(process.argv[3] ?? 10)];
const lagMsMax = 1000;
const fullRateSeconds = 3;
const sampleEveryMs = 50;
const settleMs = 30_000;
const environment = { PLANT_STORE_ACCESS_TOKEN: token, PLANT_STORE_OPERATOR_TOKEN: token };
let failed = false;

for (const to of ["file", "folder", "service"] as const) {
  const { rate, lagsMs } = await measureLag(to);
  const most = Math.max(...lagsMs);
  const late = most > lagMsMax;
  console.log(
    `to a ${to}: at ${Math.round(rate)} plants per second ${Math.round(median(lagsMs))} ms behind in the median, ${Math.round(most)} ms at most${late ? ", MORE THAN A SECOND" : ""}`,
  );
  const kills = await followThroughKills({ rounds, clients: 32, to, tell: console.error });
  const equal = kills.missing + kills.different + kills.extra === 0;
  console.log(
    `to a ${to}: ${kills.plants} plants after ${rounds} kills of each side: ${equal ? "equal" : JSON.stringify(kills)}`,
  );
  failed ||= late || !equal;
}
process.exitCode = failed ? 1 : 0;

/** For each moment, how long after it the copy had everything that was stored at that moment. */
async function measureLag(to: FollowRounds["to"]): Promise<{ rate: number; lagsMs: number[] }> {
  using folder = temporaryFolder();
  const [database, copy] = [join(folder.path, "source.db"), join(folder.path, "copy.db")];
  await using source = await startOursOn(database, environment);
  await using second = to === "service" ? await startOursOn(copy, environment) : undefined;
  const full = await load(source, { connections: 64, seconds: fullRateSeconds, firstId: 0 });
  const target = {
    file: ["--to", copy],
    folder: ["--to", `${join(folder.path, "copies")}/`],
    service: ["--to", `http://127.0.0.1:${second?.port}`, "--cursor", join(folder.path, "cursor")],
  }[to];
  const follower = startPlantStore(
    ["follow", "--from", `http://127.0.0.1:${source.operatorPort}`, ...target],
    { environment },
  );
  const stored = () => lastSeq(database);
  const copied = () => (to === "folder" ? lastInSegments(join(folder.path, "copies")) : lastSeq(copy));
  try {
    await until(() => copied() >= stored());
    const rate = full.rate / 2;
    const waiting: { seq: number; atMs: number }[] = [];
    const lagsMs: number[] = [];
    const timer = setInterval(() => {
      const nowMs = performance.now();
      waiting.push({ seq: stored(), atMs: nowMs });
      const have = copied();
      while (waiting[0] !== undefined && waiting[0].seq <= have)
        lagsMs.push(nowMs - (waiting.shift()?.atMs ?? nowMs));
    }, sampleEveryMs);
    await load(source, { connections: 64, seconds, firstId: full.nextId, rate });
    await until(() => waiting.length === 0 || copied() >= stored());
    await Bun.sleep(sampleEveryMs * 2);
    clearInterval(timer);
    return { rate, lagsMs };
  } finally {
    follower.child.kill("SIGTERM");
    await follower.ended;
  }
}

async function until(condition: () => boolean): Promise<void> {
  const deadlineMs = performance.now() + settleMs;
  while (!condition()) {
    if (performance.now() > deadlineMs) throw new Error("The copy does not catch up.");
    await Bun.sleep(sampleEveryMs);
  }
}

function lastSeq(file: string): number {
  try {
    using database = new Database(file, { readonly: true });
    database.run("PRAGMA busy_timeout = 1000");
    return database.query<{ seq: number | null }, []>("SELECT max(seq) AS seq FROM plants").get()?.seq ?? 0;
  } catch {
    return 0; // It is being created.
  }
}

/** From the cursor in the last complete line, even of the segment that is being written. */
function lastInSegments(folder: string): number {
  try {
    const names = readdirSync(folder).filter((name) => /\.ndjson(?:\.partial)?$/.test(name));
    const file = openSync(join(folder, names.sort().at(-1) ?? ""), "r");
    const tail = Buffer.alloc(4096);
    const bytes = readSync(file, tail, 0, tail.length, Math.max(0, fstatSync(file).size - tail.length));
    closeSync(file);
    const text = tail.toString("utf8", 0, bytes);
    const cursors = [...text.matchAll(/"cursor":"[0-9a-f]+\.(\d+)\.[^"]*"\}\n/g)];
    return Number(cursors.at(-1)?.[1] ?? 0);
  } catch {
    return 0; // It was just sealed.
  }
}
