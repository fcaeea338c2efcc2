import { spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  bareEnvironment,
  type Finished,
  plantStore,
  type Serving,
  shellArguments,
  start,
  startPlantStore,
} from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { createStatus, statusOf } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { type Figures, type Soak, type SoakRun, seededRandom, serveOn } from "./rounds.ts";

const stepsPerLife = 60;
const diskBytes = 24 * 1024 * 1024;
const creates = 12;

export const operator: Soak = {
  summary:
    "a random sequence of operator commands, kills, hands in the files and full disks, against an oracle",
  unit: "rounds",
  rounds: 1000,
  run: async (run) => [await runSteps(run)],
};

/** The plants that a store must have. */
type Ids = ReadonlySet<number>;

/** A store, from an empty folder on, and what must be in it. */
class Life implements AsyncDisposable {
  readonly #folder = temporaryFolder();
  readonly #isMounted: boolean;
  readonly disk = join(this.#folder.path, "disk");
  readonly backupFolder = join(this.#folder.path, "backups");
  readonly file = join(this.disk, "plants.db");
  readonly #filler = join(this.disk, "filler");
  /** What each backup must have: one of these. */
  readonly backups = new Map<string, readonly Ids[]>();
  /** What the store must have: one of these, of which a command that was killed leaves two. */
  possible: readonly Ids[] = [new Set()];
  /** What was in the files, after which the store may be refused until someone goes on as the refusal says. */
  suspect: "hands" | "a killed swap" | undefined;
  service: Serving | undefined;
  acknowledged = 0;
  lost = 0;
  random: () => number = Math.random;
  #next = 1;

  constructor() {
    mkdirSync(this.disk);
    mkdirSync(this.backupFolder);
    const { status } = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${diskBytes}`, "none", this.disk]);
    this.#isMounted = status === 0;
  }

  get isFull(): boolean {
    return existsSync(this.#filler);
  }

  newPath(name: string): string {
    return this.#folder.newPath(name);
  }

  newId(): number {
    return this.#next++;
  }

  /** Leaves a few pages, or none. */
  fillDisk(): void {
    if (!this.#isMounted) return;
    const { bavail, bsize } = statfsSync(this.disk);
    const left = Math.floor(this.random() * 40) * 4096;
    writeFileSync(this.#filler, Buffer.alloc(Math.max(0, bavail * bsize - left)));
  }

  freeDisk(): void {
    rmSync(this.#filler, { force: true });
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.random() * choices.length)] as T;
  }

  command(...args: readonly string[]): Promise<Finished> {
    return plantStore([...args, "--database", this.file]);
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    this.service?.child.kill(signal);
    await this.service?.ended;
    this.service = undefined;
  }

  /** Starts the service, if that is not refused; returns why it is. */
  async start(): Promise<string | undefined> {
    if (this.service !== undefined) return undefined;
    try {
      this.service = await serveOn(this.file);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  async create(): Promise<void> {
    for (let count = Math.ceil(this.random() * creates); count > 0 && this.service !== undefined; count--) {
      const id = this.newId();
      const name = "x".repeat(Math.floor(this.random() ** 4 * 60_000) + 1);
      const status = await createStatus(this.service.url, id, name).catch(() => 0);
      if (status !== 200) continue;
      this.acknowledged++;
      this.possible = this.possible.map((ids) => new Set(ids).add(id));
    }
  }

  /** `had`: what the store had before. It may have been replaced meanwhile. */
  made(path: string, had: readonly Ids[]): void {
    this.backups.set(path, [...had, ...this.possible]);
  }

  anyBackup(): string {
    return this.pick([...this.backups.keys()].filter((path) => existsSync(path)));
  }

  /** What restores have kept, once the disk is half full. */
  removeOldFiles(): void {
    const { bavail, blocks } = statfsSync(this.disk);
    if (bavail > blocks / 2) return;
    const old = readdirSync(this.disk).filter((name) => /\.before-|\.other-wal/.test(name));
    for (const name of old) rmSync(join(this.disk, name), { recursive: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
    if (this.#isMounted) spawnSync("umount", ["-l", this.disk]);
    this.#folder[Symbol.dispose]();
  }
}

/** What an operator does. It throws if a promise does not hold. */
type Step = (life: Life) => Promise<unknown>;

const steps: Readonly<Record<string, Step>> = {
  "serve, create": async (life) => {
    const refusal = await life.start();
    if (refusal !== undefined) await goOn(life, refusal);
    await life.create();
  },
  "create more": (life) => life.create(),
  stop: (life) => life.stop("SIGTERM"),
  "kill -9": (life) => life.stop("SIGKILL"),
  "kill -9 under load": async (life) => {
    const creating = life.create();
    await Bun.sleep(life.random() * 60);
    await life.stop("SIGKILL");
    await creating;
  },
  "backup FILE": (life) => backUp(life, life.newPath("backup.db")),
  "backup FOLDER --keep": (life) => backUpToFolder(life),
  "backup -": (life) => backUpToOutput(life),
  "restore to a new file": async (life) => {
    const backup = life.anyBackup();
    const drill = life.newPath("drill.db");
    await mustSucceed(life, plantStore(["restore", backup, "--database", drill]));
    expectOneOf(await plantsIn(drill), life.backups.get(backup) ?? [], `the restored ${backup}`);
    rmSync(drill);
  },
  "restore --replace": (life) => restore(life, life.anyBackup()),
  "restore --replace, killed": (life) => restore(life, life.anyBackup(), "killed"),
  "accept the file as it is": (life) => restore(life, life.file),
  "accept the file as it is, killed": (life) => restore(life, life.file, "killed"),
  verify: (life) => mustSucceed(life, life.command("verify")),
  list: (life) => mustSucceed(life, life.command("list", "--limit", "3")),
  doctor: (life) => life.command("doctor"),
  "token create and revoke": async (life) => {
    const name = `t-${life.newId()}`;
    await mustSucceed(life, life.command("token", "create", "--name", name));
    if (life.random() < 0.5) await mustSucceed(life, life.command("token", "revoke", name));
  },
  copy: async (life) => {
    const to = life.newPath("copied.db");
    await mustSucceed(life, plantStore(["copy", "--from", life.file, "--to", to]));
    if (existsSync(to)) expectOneOf(await plantsIn(to), life.possible, "the copy");
  },
  "two at once": async (life) => {
    const commands: readonly Step[] = [
      (one) => backUp(one, one.newPath("backup.db")),
      (one) => backUpToFolder(one),
      (one) => mustSucceed(one, one.command("verify")),
      (one) => mustSucceed(one, one.command("token", "create", "--name", `t-${one.newId()}`)),
      (one) => one.create(),
      (one) => restore(one, one.anyBackup(), "beside another"),
      async (one) => void (await one.start()),
    ];
    const before = new Set(life.backups.keys());
    await Promise.all([life.pick(commands)(life), life.pick(commands)(life)]);
    for (const [path, had] of life.backups) if (!before.has(path)) life.made(path, had);
  },
  "a full disk": async (life) => life.fillDisk(),
  "room on the disk": async (life) => life.freeDisk(),
  "hands in the files": (life) => handsInFiles(life),
};

async function runSteps({ rounds, random, tell }: SoakRun): Promise<Figures> {
  const violations: string[] = [];
  const names = Object.keys(steps);
  let [acknowledged, lost, step] = [0, 0, 0];
  while (step < rounds) {
    await using life = new Life();
    const past: string[] = [];
    try {
      life.random = seededRandom(random() * 2 ** 32);
      await steps["serve, create"]?.(life);
      await backUp(life, life.newPath("backup.db"));
      for (let own = 0; own < stepsPerLife && step < rounds; own++) {
        step++;
        // Of each step its own, so that the timing of one does not change the next.
        life.random = seededRandom(random() * 2 ** 32);
        const name = life.pick(names);
        past.push(name);
        await steps[name]?.(life);
        await check(life);
      }
    } catch (error) {
      const kept = keepFiles(life);
      violations.push(
        `step ${step}, after ${past.slice(-6).join(", ")}: ${(error as Error).message} (${kept})`,
      );
      tell(violations.at(-1) ?? "");
    }
    acknowledged += life.acknowledged;
    lost += life.lost;
    tell(`step ${step} of ${rounds}: ${acknowledged} acknowledged, ${violations.length} violations`);
  }
  const figures = {
    what: "random operator commands",
    rounds,
    acknowledged,
    lost,
    note: `${violations.length} violations`,
  };
  return violations.length === 0 ? figures : { ...figures, failure: violations.join("\n") };
}

function keepFiles(life: Life): string {
  const kept = `/tmp/plant-store-violation-${Date.now()}`;
  cpSync(life.disk, kept, { recursive: true, filter: (path) => !path.endsWith("filler") });
  return kept;
}

/** No plant is missing, and no sound store is refused without a way on that works. */
async function check(life: Life): Promise<void> {
  const { service } = life;
  if (service !== undefined && service.child.exitCode !== null) {
    life.service = undefined;
    if (!life.isFull) throw new Error(`the service ended by itself: ${service.err().slice(-600)}`);
  }
  const { code, out, err } = await life.command("export");
  const warnsOfLostWal = life.suspect === "hands" && err.includes("it lacks the plants");
  if (code !== 0 || warnsOfLostWal) return goOn(life, err);
  life.possible = [expectOneOf(idsIn(out), life.possible, "the store", life)];
  life.suspect = undefined;
  life.removeOldFiles();
}

/** Hands or a kill may lead to a refusal, whose `mv` works; after hands, a backup may have to be restored. */
async function goOn(life: Life, refusal: string): Promise<void> {
  if (life.isFull) {
    life.freeDisk();
    return check(life);
  }
  const move = /`((?:mkdir|mv) [^`]+)`/.exec(refusal)?.[1];
  if (life.suspect === undefined || (life.suspect === "a killed swap" && move === undefined))
    throw new Error(`a sound store is refused: ${refusal.slice(-600)}`);
  await life.stop("SIGKILL");
  life.suspect = undefined;
  if (move === undefined) await restore(life, life.anyBackup());
  else if (spawnSync("sh", ["-c", move]).status !== 0) throw new Error(`${move} fails`);
  await check(life);
}

async function backUp(life: Life, path: string): Promise<void> {
  const { possible } = life;
  const { code } = await mustSucceed(life, life.command("backup", path));
  if (code === 0) life.made(path, possible);
}

async function backUpToFolder(life: Life): Promise<void> {
  const { possible } = life;
  const keep = ["--keep", String(Math.ceil(life.random() * 3))];
  const { code, out, err } = await life.command("backup", life.backupFolder, ...keep, "--json");
  if (out === "") return allowOnly(life, code, err);
  const { path, removed } = JSON.parse(out) as { path: string; removed: readonly string[] };
  for (const gone of removed) {
    if (sizes(life.backups.get(gone)).min > sizes([...possible, ...life.possible]).max)
      throw new Error(`${gone} had more plants, and is deleted`);
    life.backups.delete(gone);
  }
  life.made(path, possible);
}

async function backUpToOutput(life: Life): Promise<void> {
  const { possible } = life;
  const path = life.newPath("backup.db");
  const shell = shellArguments(`"$@" > ${path}`, ["backup", "-", "--database", life.file]);
  const { code, err } = await start("sh", shell, { environment: bareEnvironment }).ended;
  if (code === 0) life.made(path, possible);
  else allowOnly(life, code, err);
}

/** Of a backup, or of the file itself. It may be killed, or have another command beside it. */
async function restore(life: Life, from: string, how?: "killed" | "beside another"): Promise<void> {
  const { possible } = life;
  if (how !== "beside another") await life.stop(life.pick(["SIGTERM", "SIGKILL"]));
  const restored = from === life.file ? possible : (life.backups.get(from) ?? []);
  const running = startPlantStore(["restore", from, "--replace", "--database", life.file, "--json"]);
  if (how === "killed") {
    await Bun.sleep(life.random() * 600);
    running.child.kill("SIGKILL");
    life.suspect = "a killed swap";
  }
  const { code, out, err } = await running.ended;
  if (code === 0) {
    // What is created beside it is refused, or was there before.
    life.possible = how === "beside another" ? [...restored, ...life.possible] : restored;
    const { before } = JSON.parse(out) as { before: string | null };
    if (before !== null) rmSync(before, { recursive: true });
  } else if (how === "killed") life.possible = [...possible, ...restored];
  else if (how === undefined) allowOnly(life, code, err);
}

/** The rows of the soak `files`, at any moment, whether the service runs, was stopped or was killed. */
async function handsInFiles(life: Life): Promise<void> {
  const { file, service } = life;
  const backup = life.anyBackup();
  const script = life.pick([
    `cp ${backup} ${file}`,
    `cp ${backup} ${file}.new && mv ${file}.new ${file}`,
    `rm ${file}`,
    `rm -f ${file}-wal`,
    `rm -f ${file}-shm`,
    `truncate -s 0 ${file}`,
  ]);
  life.freeDisk();
  spawnSync("sh", ["-c", script]);
  if (service !== undefined) {
    const isReady = async () => (await statusOf(service.url, "/readyz").catch(() => 0)) === 200;
    await eventually(async () => !(await isReady()), `a running service to notice ${script}`);
    await life.stop(life.pick(["SIGTERM", "SIGKILL"]));
  }
  if (script.endsWith("-shm")) return;
  life.suspect = "hands";
  // It is the store from now on, once a WAL beside it is moved away.
  if (script.startsWith("cp")) life.possible = life.backups.get(backup) ?? [];
}

/** A command may fail only beside a full disk, or on files that hands were in. */
function allowOnly(life: Life, code: number | null, err: string): void {
  if (code === 0 || life.isFull || life.suspect !== undefined) return;
  if (/another process|is running|in use by|has it open|was created meanwhile|being read/.test(err)) return;
  throw new Error(`exit ${code}: ${err.slice(-600)}`);
}

async function mustSucceed(life: Life, running: Promise<Finished>): Promise<Finished> {
  const finished = await running;
  allowOnly(life, finished.code, finished.err);
  return finished;
}

async function plantsIn(file: string): Promise<Ids> {
  const { code, out, err } = await plantStore(["export", "--database", file]);
  if (code !== 0) throw new Error(`${file} cannot be read: ${err}`);
  return idsIn(out);
}

function idsIn(ndjson: string): Ids {
  return new Set(
    ndjson
      .split("\n")
      .flatMap((line) => /"id":\s*"?(-?\d+)/.exec(line)?.[1] ?? [])
      .map(Number),
  );
}

function sizes(possible: readonly Ids[] = []): { readonly min: number; readonly max: number } {
  const all = possible.map(({ size }) => size);
  return { min: Math.min(...all), max: Math.max(...all) };
}

/** The one that the store has; an acknowledged plant must not be missing. */
function expectOneOf(found: Ids, possible: readonly Ids[], what: string, life?: Life): Ids {
  const missing = possible.map((ids) => [...ids].filter((id) => !found.has(id)));
  const whole = possible.filter((_, index) => missing[index]?.length === 0);
  const [largest] = whole.sort((one, other) => other.size - one.size);
  if (largest !== undefined) return largest;
  const fewest = Math.min(...missing.map(({ length }) => length));
  if (life !== undefined) life.lost += fewest;
  throw new Error(`${what} lacks ${fewest} acknowledged plants; it has ${found.size}`);
}
