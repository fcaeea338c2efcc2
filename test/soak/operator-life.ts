// A store of the soak "operator", what must be in it, and what holds after each step.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Finished, plantStore, type Serving, startPlantStore } from "../support/command.ts";
import { createStatus } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { serveOn } from "./rounds.ts";

const diskBytes = 24 * 1024 * 1024;
const creates = 12;
// Longer than a stop takes.
const secondSignalMs = 5000;

/** The plants that a store must have. */
export type Ids = ReadonlySet<number>;

/** A store, from an empty folder on, and what must be in it. */
export class Life implements AsyncDisposable {
  readonly #folder = temporaryFolder();
  readonly #isMounted: boolean;
  readonly disk = this.#folder.newFolder();
  readonly backupFolder = this.#folder.newFolder();
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
    const mount = ["-t", "tmpfs", "-o", `size=${diskBytes}`, "none", this.disk];
    this.#isMounted = spawnSync("mount", mount).status === 0;
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

  anyBackup(): string {
    return this.pick([...this.backups.keys()].filter((path) => existsSync(path)));
  }

  command(...args: readonly string[]): Promise<Finished> {
    return plantStore([...args, "--database", this.file]);
  }

  /** It may fail only beside a full disk, or on files that hands were in. */
  async succeed(...args: readonly string[]): Promise<Finished> {
    return this.allow(await this.command(...args));
  }

  allow(finished: Finished): Finished {
    const { code, err } = finished;
    const isRefused = /another process|is running|in use by|has it open|was created meanwhile|being read/;
    if (code === 0 || existsSync(this.#filler) || this.suspect !== undefined || isRefused.test(err))
      return finished;
    throw new Error(`exit ${code}: ${err.slice(-600)}`);
  }

  /** Starts the service, if that is not refused; returns why it is. */
  async start(): Promise<string | undefined> {
    try {
      this.service ??= await serveOn(this.file);
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    const { service } = this;
    this.service = undefined;
    service?.child.kill(signal);
    // One that has lost its data file stays up for a rescue until the second signal.
    const again = setTimeout(() => service?.child.kill(signal), secondSignalMs);
    await service?.ended;
    clearTimeout(again);
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

  async backUp(): Promise<void> {
    const { possible } = this;
    const path = this.newPath("backup.db");
    if ((await this.succeed("backup", path)).code === 0) this.made(path, possible);
  }

  /** Of a backup, or of the file itself. It may be killed, or have another command beside it. */
  async restore(from: string, how?: "killed" | "beside another" | "as the way on"): Promise<void> {
    const { possible } = this;
    if (how !== "beside another") await this.stop(this.pick(["SIGTERM", "SIGKILL"]));
    const restored = from === this.file ? possible : (this.backups.get(from) ?? []);
    const running = startPlantStore(["restore", from, "--replace", "--database", this.file, "--json"]);
    if (how === "killed") {
      await Bun.sleep(this.random() * 600);
      running.child.kill("SIGKILL");
      this.suspect = "a killed swap";
    }
    const finished = await running.ended;
    if (finished.code === 0) {
      this.possible = how === "beside another" ? [...restored, ...this.possible] : restored;
      const { before } = JSON.parse(finished.out) as { before: string | null };
      if (before === null) return;
      if (how === undefined) await this.expectIn(join(before, "plants.db"), possible);
      rmSync(before, { recursive: true });
    } else if (how === "killed") this.possible = [...possible, ...restored];
    else if (how !== "beside another") this.allow(finished);
  }

  /** No plant is missing, and no sound store is refused without a way on that works. */
  async check(): Promise<void> {
    if (this.service !== undefined && this.service.child.exitCode !== null) {
      const err = this.service.err();
      this.service = undefined;
      if (!existsSync(this.#filler)) throw new Error(`the service ended by itself: ${err.slice(-600)}`);
    }
    const { code, out, err } = await this.command("export");
    const warnsOfLostWal = this.suspect === "hands" && err.includes("it lacks the plants");
    if (code !== 0 || warnsOfLostWal) return this.goOn(err);
    this.possible = [this.#expect(out, this.possible, "the store")];
    this.suspect = undefined;
    this.#removeOldFiles();
  }

  /** Hands or a kill may lead to a refusal, whose `mv` works; after hands, a backup may have to be restored. */
  async goOn(refusal: string): Promise<void> {
    if (existsSync(this.#filler)) {
      this.freeDisk();
      return this.check();
    }
    const move = /`((?:mkdir|mv) [^`]+)`/.exec(refusal)?.[1];
    const isAllowed = this.suspect === "hands" || (this.suspect === "a killed swap" && move !== undefined);
    if (!isAllowed) throw new Error(`a sound store is refused: ${refusal.slice(-600)}`);
    await this.stop("SIGKILL");
    this.suspect = undefined;
    if (move === undefined) await this.restore(this.anyBackup(), "as the way on");
    else if (spawnSync("sh", ["-c", move]).status !== 0) throw new Error(`${move} fails`);
    await this.check();
  }

  /** That file has the plants that it must have. */
  async expectIn(file: string, possible: readonly Ids[] = []): Promise<void> {
    const { code, out, err } = await plantStore(["export", "--database", file]);
    if (code !== 0) throw new Error(`${file} cannot be read: ${err}`);
    this.#expect(out, possible, file);
  }

  /** Returns the one that was exported; an acknowledged plant must not be missing. */
  #expect(exported: string, possible: readonly Ids[], what: string): Ids {
    const found = new Set(Array.from(exported.matchAll(/^\{"id":\s*"?(\d+)/gm), ([, id]) => Number(id)));
    const missingOf = (ids: Ids) => [...ids].filter((id) => !found.has(id)).length;
    const [nearest = new Set()] = possible.toSorted(
      (one, other) => missingOf(one) - missingOf(other) || other.size - one.size,
    );
    const missing = missingOf(nearest);
    if (missing === 0) return nearest;
    this.lost += missing;
    throw new Error(`${what} lacks ${missing} acknowledged plants; it has ${found.size}`);
  }

  /** What restores have kept, once the disk is half full. */
  #removeOldFiles(): void {
    const { bavail, blocks } = statfsSync(this.disk);
    if (bavail > blocks / 2) return;
    const old = readdirSync(this.disk).filter((name) => name.includes(".before-"));
    for (const name of old) rmSync(join(this.disk, name), { recursive: true });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop("SIGKILL");
    if (this.#isMounted) spawnSync("umount", ["-l", this.disk]);
    this.#folder[Symbol.dispose]();
  }
}
