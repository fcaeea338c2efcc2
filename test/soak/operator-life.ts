// A store of the soak "operator", what must be in it, and what holds after each step.
import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Finished, plantStore, type Serving, startPlantStore } from "../support/command.ts";
import { createStatus } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { serveOn } from "./rounds.ts";

const diskBytes = 24 * 1024 * 1024;
const creates = 12;

/** The plants that a store must have. */
export type Ids = ReadonlySet<number>;

/** A store, from an empty folder on, and what must be in it. */
export class Life implements AsyncDisposable {
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

/** No plant is missing, and no sound store is refused without a way on that works. */
export async function check(life: Life): Promise<void> {
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
export async function goOn(life: Life, refusal: string): Promise<void> {
  if (life.isFull) {
    life.freeDisk();
    return check(life);
  }
  const move = /`((?:mkdir|mv) [^`]+)`/.exec(refusal)?.[1];
  const isAllowed = life.suspect === "hands" || (life.suspect === "a killed swap" && move !== undefined);
  if (!isAllowed) throw new Error(`a sound store is refused: ${refusal.slice(-600)}`);
  await life.stop("SIGKILL");
  life.suspect = undefined;
  if (move === undefined) await restore(life, life.anyBackup(), "as the way on");
  else if (spawnSync("sh", ["-c", move]).status !== 0) throw new Error(`${move} fails`);
  await check(life);
}

export async function backUp(life: Life, path: string): Promise<void> {
  const { possible } = life;
  const { code } = await mustSucceed(life, life.command("backup", path));
  if (code === 0) life.made(path, possible);
}

/** Of a backup, or of the file itself. It may be killed, or have another command beside it. */
export async function restore(
  life: Life,
  from: string,
  how?: "killed" | "beside another" | "as the way on",
): Promise<void> {
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
    life.possible = how === "beside another" ? [...restored, ...life.possible] : restored;
    const { before } = JSON.parse(out) as { before: string | null };
    if (before === null) return;
    if (how === undefined) expectOneOf(await plantsIn(join(before, "plants.db")), possible, "what it keeps");
    rmSync(before, { recursive: true });
  } else if (how === "killed") life.possible = [...possible, ...restored];
  else if (how !== "beside another") allowOnly(life, code, err);
}

/** A command may fail only beside a full disk, or on files that hands were in. */
export function allowOnly(life: Life, code: number | null, err: string): void {
  if (code === 0 || life.isFull || life.suspect !== undefined) return;
  if (/another process|is running|in use by|has it open|was created meanwhile|being read/.test(err)) return;
  throw new Error(`exit ${code}: ${err.slice(-600)}`);
}

export async function mustSucceed(life: Life, running: Promise<Finished>): Promise<Finished> {
  const finished = await running;
  allowOnly(life, finished.code, finished.err);
  return finished;
}

export async function plantsIn(file: string): Promise<Ids> {
  const { code, out, err } = await plantStore(["export", "--database", file]);
  if (code !== 0) throw new Error(`${file} cannot be read: ${err}`);
  return idsIn(out);
}

function idsIn(ndjson: string): Ids {
  return new Set(Array.from(ndjson.matchAll(/^\{"id":\s*"?(\d+)/gm), ([, id]) => Number(id)));
}

export function sizes(possible: readonly Ids[] = []): { readonly min: number; readonly max: number } {
  const all = possible.map(({ size }) => size);
  return { min: Math.min(...all), max: Math.max(...all) };
}

/** The one that the store has; an acknowledged plant must not be missing. */
export function expectOneOf(found: Ids, possible: readonly Ids[], what: string, life?: Life): Ids {
  const missing = possible.map((ids) => [...ids].filter((id) => !found.has(id)));
  const whole = possible.filter((_, index) => missing[index]?.length === 0);
  const [largest] = whole.sort((one, other) => other.size - one.size);
  if (largest !== undefined) return largest;
  const fewest = Math.min(...missing.map(({ length }) => length));
  if (life !== undefined) life.lost += fewest;
  throw new Error(`${what} lacks ${fewest} acknowledged plants; it has ${found.size}`);
}
