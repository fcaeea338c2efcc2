import type { AuditTrail } from "../access/audit.ts";
import type { Caller } from "../access/gate.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { requestIds } from "../http/request-fields.ts";
import type { Events } from "../telemetry/events.ts";
import { recordAction } from "./audit.ts";
import { downloadLinks } from "./download-links.ts";

/** The dated backups of the data file. */
export interface BackupStore {
  readonly folder: string;
  /** The newest first. */
  list(): readonly { readonly name: string; readonly atMs: number; readonly bytes: number }[];
  create(atMs: number, onStep: (step: string) => void): Promise<{ readonly path: string }>;
  verify(name: string): Promise<readonly string[]>;
  read(name: string): AsyncIterable<Uint8Array> | undefined;
}

export interface BackupParts {
  /** Why backups are unavailable, if they are. */
  readonly backupStore: BackupStore | string;
  readonly audit: AuditTrail;
  readonly events: Pick<Events, "internalError">;
}

interface Task {
  readonly kind: "create" | "verify";
  readonly name: string | undefined;
  readonly startedAt: string;
  step: string;
}

interface Result {
  readonly kind: Task["kind"];
  readonly name: string | undefined;
  readonly endedAt: string;
  /** Undefined if it succeeded. */
  readonly problem: string | undefined;
}

interface Download {
  readonly name: string;
  readonly caller: Caller;
  readonly isAllowed: () => boolean;
}

const linksMax = 100;

/** Makes and verifies backups in the background, one at a time, and lets browsers download them. */
export class Backups {
  readonly #parts: BackupParts;
  readonly #links = downloadLinks<Download>(linksMax, "downloads");
  #task: Task | undefined;
  #last: Result | undefined;

  constructor(parts: BackupParts) {
    this.#parts = parts;
  }

  present() {
    const store = this.#parts.backupStore;
    if (typeof store === "string") return { unavailable: store, backups: [] };
    const { task, last } = { task: this.#task, last: this.#last };
    try {
      const backups = store
        .list()
        .map(({ atMs, ...entry }) => ({ ...entry, at: new Date(atMs).toISOString() }));
      return { folder: store.folder, backups, task, last };
    } catch (error) {
      // The folder is missing, or cannot be read.
      return { folder: store.folder, backups: [], unavailable: (error as Error).message, task, last };
    }
  }

  async create(exchange: Exchange, caller: Caller): Promise<void> {
    const store = this.#store();
    const atMs = Date.now();
    await this.#start(exchange, caller, "create", undefined, async (task) => {
      const { path } = await store.create(atMs, (step) => {
        task.step = step;
      });
      return { name: path.slice(path.lastIndexOf("/") + 1), problem: undefined };
    });
  }

  async verify(exchange: Exchange, caller: Caller, name: string): Promise<void> {
    const store = this.#store();
    this.#existing(name);
    await this.#start(exchange, caller, "verify", name, async () => ({
      name,
      problem: (await store.verify(name)).join("; ") || undefined,
    }));
  }

  /** A secret by which the backup can be downloaded once, within a minute. */
  createLink(name: string, caller: Caller, isAllowed: () => boolean): string {
    this.#existing(name);
    return this.#links.create({ name, caller, isAllowed });
  }

  async send(exchange: Exchange, secret: string): Promise<void> {
    exchange.refuseWhileDraining();
    const link = this.#links.use(secret);
    if (link === undefined)
      throw new HttpError("no-such-path", "This link has been used, or has expired after a minute.");
    exchange.caller = link.caller;
    const pieces = this.#store().read(link.name);
    if (pieces === undefined) throw noSuchBackup(link.name);
    const entry = { action: "backup.downloaded", subject: link.name, detail: "" } as const;
    await recordAction(this.#parts.audit, exchange, link.caller, entry);
    const headers = { "Content-Disposition": `attachment; filename="${link.name}"` };
    const stream = exchange.stream("application/vnd.sqlite3", headers, link.isAllowed);
    if (stream === undefined) return;
    for await (const piece of pieces) {
      await stream.write(piece);
      if (!stream.open) return;
    }
    stream.end();
  }

  #store(): BackupStore {
    const store = this.#parts.backupStore;
    if (typeof store === "string") throw new HttpError("wrong-parameter", store);
    return store;
  }

  #existing(name: string): void {
    if (
      !this.#store()
        .list()
        .some((backup) => backup.name === name)
    )
      throw noSuchBackup(name);
  }

  /** The audit trail has an entry before the work starts, which then goes on without the request. */
  async #start(
    exchange: Exchange,
    caller: Caller,
    kind: Task["kind"],
    name: string | undefined,
    work: (task: Task) => Promise<Pick<Result, "name" | "problem">>,
  ): Promise<void> {
    if (this.#task !== undefined)
      throw new HttpError(
        "too-busy",
        "A backup is already being made or verified. Try again when it has finished.",
      );
    const task: Task = { kind, name, startedAt: new Date().toISOString(), step: "" };
    this.#task = task;
    try {
      const action = kind === "create" ? "backup.created" : "backup.verified";
      await recordAction(this.#parts.audit, exchange, caller, {
        action,
        subject: name ?? "data file",
        detail: "",
      });
    } catch (error) {
      this.#task = undefined;
      throw error;
    }
    void work(task)
      .catch((error) => {
        this.#parts.events.internalError(() => requestIds(exchange), error);
        return { name, problem: (error as Error).message };
      })
      .then((result) => {
        this.#task = undefined;
        this.#last = { kind, endedAt: new Date().toISOString(), ...result };
      });
  }
}

function noSuchBackup(name: string): HttpError {
  return new HttpError("no-such-path", `There is no backup ${name.slice(0, 100)}.`);
}
