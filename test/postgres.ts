import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import type { StoredPlant } from "./harness.ts";
import { asUser, isRoot, nobody, preparePostgres } from "./postgres-files.ts";

/** A real PostgreSQL of a test file's own, from the binaries that npm brought. */
export interface PostgresServer extends AsyncDisposable {
  readonly port: number;
  /** Where it keeps what it has, and where a small disk is. */
  readonly folder: string;
  /** Makes an empty database and gives its address. */
  newDatabase(): Promise<string>;
  /** What a database of plants holds. */
  stored(database: string): Promise<StoredPlant[]>;
  /** Runs SQL as the superuser in that database. */
  run<Row extends pg.QueryResultRow>(sql: string, database?: string): Promise<Row[]>;
  /** The process that all others belong to. */
  readonly postmaster: () => ChildProcess;
  /** Stops it, at once or as after a crash, with whoever is connected. */
  stop(how: "fast" | "immediate"): Promise<void>;
  /** Ends every process of it with -9, as a machine that dies would. */
  crash(): Promise<void>;
  start(): Promise<void>;
}

export interface PostgresSetup {
  /** As in postgresql.conf. */
  readonly settings?: Record<string, string>;
  /** Lines for pg_hba.conf, before those that let everyone in from this machine. */
  readonly access?: readonly string[];
  /** Whether it offers TLS, as localhost. */
  readonly tls?: boolean;
  /** Makes it a copy of that server, which it then follows until it is promoted. That one is stopped for a moment. */
  readonly standbyOf?: PostgresServer;
  /** A disk of so many megabytes beside its own, seen by the server alone, for a tablespace to fill. Needs root. */
  readonly smallDiskMb?: number;
}

/** Whether this machine lets us give a server a disk of its own. */
export const mayMount =
  isRoot && spawnSync("unshare", ["-m", "mount", "-t", "tmpfs", "none", "/mnt"]).status === 0;

/** Starts one in a second or two. */
export async function startPostgres({
  settings = {},
  access = [],
  tls = false,
  standbyOf,
  smallDiskMb,
}: PostgresSetup = {}): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), "plant-store-postgres-"));
  if (isRoot) chownSync(folder, nobody, nobody);
  const { binaries, data: initialised } = preparePostgres(folder);
  const data = join(folder, "data");
  if (standbyOf === undefined) copyFolder(initialised, data);
  else await copyData(standbyOf, data);
  const accessFile = join(data, "pg_hba.conf");
  writeFileSync(accessFile, [...access, readFileSync(accessFile, "utf8")].join("\n"));
  const port = await freePort();
  const options = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: folder,
    port,
    ...(standbyOf ? { primary_conninfo: `host=127.0.0.1 port=${standbyOf.port} user=postgres` } : {}),
    ...(tls ? { ssl: "on", ...certificate(folder) } : {}),
    ...settings,
  };
  const flags = Object.entries(options).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  let server: ChildProcess | undefined;
  let databases = 0;

  const address = (database: string) => `postgres://postgres@127.0.0.1:${port}/${database}`;
  const run = async <Row extends pg.QueryResultRow>(sql: string, database = address("postgres")) => {
    const client = new pg.Client({ connectionString: database });
    client.on("error", () => {});
    await client.connect();
    try {
      return (await client.query<Row>(sql)).rows;
    } finally {
      await client.end();
    }
  };
  const start = async () => {
    let said = "";
    const plain = [join(binaries, "bin/postgres"), "-D", data, ...flags];
    const [command = "", ...args] =
      smallDiskMb === undefined ? plain : withDisk(join(folder, "small"), smallDiskMb, plain);
    server = spawn(command, args, {
      ...(smallDiskMb === undefined ? asUser : {}),
      cwd: folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    server.stderr?.on("data", (text) => {
      said += text;
    });
    while (!/ready to accept (?:read-only )?connections/.test(said)) {
      if (server.exitCode !== null) throw new Error(`postgres ended at once: ${said}`);
      await Bun.sleep(10);
    }
  };
  const stop = async (how: "fast" | "immediate") => {
    if (server === undefined || server.exitCode !== null || server.signalCode !== null) return;
    const ended = new Promise((resolve) => server?.on("close", resolve));
    server.kill(how === "fast" ? "SIGINT" : "SIGQUIT");
    await ended;
  };
  await start();
  return {
    port,
    folder,
    run,
    start,
    stop,
    async stored(database) {
      const rows = await run<Record<string, string>>("SELECT * FROM plants ORDER BY id", database);
      return rows.map((row) => ({
        id: BigInt(row["id"] ?? ""),
        name: row["name"] ?? "",
        tag: row["tag"] ?? null,
        created_at_ms: BigInt(row["created_at_ms"] ?? ""),
        created_by: row["created_by"] ?? "",
      }));
    },
    postmaster: () => server as ChildProcess,
    async crash() {
      const pid = server?.pid ?? 0;
      const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8")
        .trim()
        .split(" ")
        .map(Number);
      const ended = new Promise((resolve) => server?.on("close", resolve));
      for (const one of [pid, ...children]) process.kill(one, "SIGKILL");
      await ended;
    },
    async newDatabase() {
      const name = `plants_${++databases}`;
      await run(`CREATE DATABASE ${name}`);
      return address(name);
    },
    async [Symbol.asyncDispose]() {
      await stop("immediate");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function copyData(primary: PostgresServer, data: string): Promise<void> {
  await primary.stop("fast");
  copyFolder(join(primary.folder, "data"), data);
  writeFileSync(join(data, "standby.signal"), "");
  await primary.start();
}

// By cp, as Node's own copy would change the owner.
function copyFolder(from: string, to: string): void {
  const { status, stderr } = spawnSync("cp", ["-a", from, to], { encoding: "utf8" });
  if (status !== 0) throw new Error(`cp failed: ${stderr}`);
}

function withDisk(place: string, megabytes: number, command: readonly string[]): string[] {
  const user = `--reuid=${nobody} --regid=${nobody} --clear-groups`;
  const mount = `mkdir -p ${place} && mount -t tmpfs -o size=${megabytes}m,uid=${nobody},mode=700 none ${place}`;
  return ["unshare", "-m", "sh", "-c", `${mount} && exec setpriv ${user} "$@"`, "sh", ...command];
}

// A key that others can read is refused.
function certificate(folder: string): Record<string, string> {
  const place = (name: string) => {
    const path = join(folder, name);
    copyFileSync(join(import.meta.dir, "certificates", name), path);
    if (isRoot) chownSync(path, nobody, nobody);
    chmodSync(path, 0o600);
    return path;
  };
  return { ssl_cert_file: place("localhost.pem"), ssl_key_file: place("localhost.key") };
}

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0));
    });
  });
}
