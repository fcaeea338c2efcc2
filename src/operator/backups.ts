import type { Caller } from "../access/gate.ts";
import type { Exchange } from "../http/exchange.ts";
import { HttpError } from "../http/http-error.ts";
import { requestIds } from "../http/request-log.ts";
import { type Route, route } from "../http/route.ts";
import { recordAction } from "./audit.ts";
import { type Download, Downloads, sendFile } from "./downloads.ts";
import type { BackupStore, OperatorParts } from "./operator-parts.ts";
import { isoTime, readBody, wrong } from "./parameters.ts";

type BackupParts = Pick<OperatorParts, "backupStore" | "audit" | "gate" | "events">;

const linksMax = 100;

export function backupRoutes(parts: BackupParts): readonly Route[] {
  const backups = new Backups(parts);
  const downloads = new Downloads<string>(parts.gate, "operator", linksMax);
  return [
    route("GET", "/api/backups", "operator", (exchange) => exchange.json(backups.present())),
    route("POST", "/api/backups", "operator", async (exchange, caller) => {
      await readBody(exchange);
      await backups.create(exchange, caller);
      exchange.json(backups.present(), 202);
    }),
    route("POST", "/api/backups/{name}/verify", "operator", async (exchange, caller) => {
      await readBody(exchange);
      await backups.verify(exchange, caller, exchange.parameter);
      exchange.json(backups.present(), 202);
    }),
    route("POST", "/api/backups/{name}/link", "operator", async (exchange, caller) => {
      await readBody(exchange);
      const name = backups.existing(exchange.parameter);
      const secret = downloads.createLink(exchange, caller, name);
      exchange.json({ url: `/api/backup-files/${secret}` }, 201);
    }),
    route("GET", "/api/backup-files/{secret}", "none", (exchange) => {
      exchange.refuseWhileDraining();
      return backups.send(exchange, downloads.follow(exchange));
    }),
  ];
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

/** Makes and verifies backups in the background, one at a time. */
class Backups {
  readonly #parts: BackupParts;
  #task: Task | undefined;
  #last: Result | undefined;

  constructor(parts: BackupParts) {
    this.#parts = parts;
  }

  present() {
    const store = this.#parts.backupStore;
    if (typeof store === "string") return { unavailable: store, backups: [] };
    const state = { folder: store.folder, task: this.#task, last: this.#last };
    try {
      const backups = store.list().map(({ atMs, ...entry }) => ({ ...entry, at: isoTime(atMs) }));
      return { ...state, backups };
    } catch (error) {
      // The folder is missing, or cannot be read.
      return { ...state, backups: [], unavailable: (error as Error).message };
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
    this.existing(name);
    const store = this.#store();
    await this.#start(exchange, caller, "verify", name, async () => {
      const problem = (await store.verify(name)).join("; ") || undefined;
      return { name, problem };
    });
  }

  /** Its name. @throws HttpError there is no such backup. */
  existing(name: string): string {
    const isListed = this.#store()
      .list()
      .some((backup) => backup.name === name);
    if (!isListed) throw new HttpError("no-such-path", `There is no backup ${name.slice(0, 100)}.`);
    return name;
  }

  async send(exchange: Exchange, download: Download<string>): Promise<void> {
    const name = this.existing(download.target);
    await recordAction(this.#parts.audit, exchange, download.caller, "backup.downloaded", name);
    const pieces = this.#store().read(name);
    await sendFile(exchange, download, { name, contentType: "application/vnd.sqlite3" }, pieces);
  }

  #store(): BackupStore {
    const store = this.#parts.backupStore;
    if (typeof store === "string") throw wrong(store);
    return store;
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
      await recordAction(this.#parts.audit, exchange, caller, action, name ?? "data file");
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
