import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PostgresServer } from "../test/support/postgres.ts";
import { databaseOfPlants } from "./on-postgres.ts";
import { hasPocketBase, startPocketBase } from "./pocketbase.ts";
import { type Server, start, startBare, startOurs, startPeer } from "./servers.ts";

export interface Contender {
  readonly name: string;
  /** What a success response means there. */
  readonly durability: string;
  readonly start: () => Promise<Server>;
  /** Several processes do the work, of which only the first is measured. */
  readonly sharesWork?: boolean;
}

const here = import.meta.dir;
const nginx = ["/usr/sbin/nginx", "/usr/bin/nginx"].find((path) => existsSync(path));

export const ours: Contender = { name: "plant-store", durability: "fsynced", start: () => startOurs() };
export const bare: Contender = { name: "bare Bun.serve", durability: "nothing stored", start: startBare };

export function peers(): Contender[] {
  const found: Contender[] = [];
  if (nginx !== undefined)
    found.push({
      name: "nginx, a constant",
      durability: "nothing stored",
      start: () => startNginx(nginx),
      sharesWork: true,
    });
  found.push({
    name: "Hono on Bun + SQLite",
    durability: "fsynced, each by itself",
    start: () => startPeer("Hono on Bun", process.execPath, "hono.js"),
  });
  if (hasPocketBase())
    found.push({ name: "PocketBase", durability: "committed, not fsynced", start: startPocketBase });
  return found;
}

/** Ours on PostgreSQL, and the common alternative there: the usual code, one INSERT per plant. */
export function peersOn(postgres: PostgresServer): Contender[] {
  return [
    {
      name: "plant-store on PostgreSQL",
      durability: "fsynced by PostgreSQL",
      start: async () => startOurs({ database: await postgres.newDatabase() }),
      sharesWork: true,
    },
    {
      name: "Fastify + PostgreSQL",
      durability: "fsynced, each by itself",
      start: async () =>
        startPeer("Fastify", "node", "fastify-postgres.js", await databaseOfPlants(postgres)),
      sharesWork: true,
    },
  ];
}

/** Installs what the peers need, unless it is there as the lock file has it. */
export function installPeers(): void {
  if (isInstalled()) return;
  console.error(
    "Installing what the benchmark compares with (bench/package.json); this takes a minute or two, once.",
  );
  const ran = Bun.spawnSync(["npm", "ci", "--no-audit", "--no-fund"], {
    cwd: here,
    stdout: "ignore",
    stderr: "inherit",
  });
  if (ran.exitCode !== 0) throw new Error("npm ci in bench/ failed");
}

/** Whether the last install ended, and the lock file has not changed since: npm writes what it has installed at the end. */
function isInstalled(): boolean {
  const installedFile = join(here, "node_modules/.package-lock.json");
  if (!existsSync(installedFile)) return false;
  const installed = readPackages(installedFile);
  const locked = Object.entries(readPackages(join(here, "package-lock.json")));
  // Optional ones may be for other systems. The path of the bench itself is empty.
  const needed = locked.filter(([path, { optional }]) => path !== "" && optional !== true);
  return needed.every(([path, { version }]) => installed[path]?.version === version);
}

interface LockedPackage {
  readonly version: string;
  readonly optional?: boolean;
}

/** What a lock file of npm has, by the path of each package. */
function readPackages(lockFile: string): Record<string, LockedPackage> {
  return JSON.parse(readFileSync(lockFile, "utf8")).packages;
}

export const hasNginx = nginx !== undefined;

/** nginx in front of nodes on these ports, as deploy/nginx.conf sets it up. */
export function startProxy(ports: readonly number[]): Promise<Server> {
  const nodes = ports.map((port) => `server 127.0.0.1:${port} max_fails=0;`).join(" ");
  return startNginx(
    nginx ?? "",
    `proxy_pass http://nodes; proxy_http_version 1.1; proxy_set_header Connection "";
     proxy_next_upstream error timeout non_idempotent; proxy_next_upstream_tries 2;`,
    `upstream nodes { ${nodes} keepalive 256; keepalive_requests 1000000000; keepalive_timeout 60s; }`,
  );
}

function startNginx(
  binary: string,
  location = `return 200 '{"name":"Fern","tag":"indoor"}';`,
  upstream = "",
): Promise<Server> {
  return start("nginx", {
    command: (port, folder) => {
      const configuration = [
        "daemon off; worker_processes 1; pid nginx.pid; error_log stderr crit;",
        "events { worker_connections 2048; }",
        "http { access_log off; keepalive_requests 1000000000; default_type application/json; client_body_temp_path body;",
        `proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s; ${upstream}`,
        `server { listen 127.0.0.1:${port}; location /plants { ${location} } } }`,
      ];
      writeFileSync(join(folder, "nginx.conf"), configuration.join("\n"));
      return [binary, "-p", folder, "-c", "nginx.conf"];
    },
  });
}
