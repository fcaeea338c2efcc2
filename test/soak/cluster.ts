import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { start, watch } from "../command.ts";
import { eventually, temporaryFolder } from "../harness.ts";
import { freePort, startPostgres } from "../postgres.ts";
import { startTcpProxy } from "../tcp-proxy.ts";
import { Clients, type Figures, judged, type SoakRun, serveOn } from "./rounds.ts";

const clients = 24;
const nodeCount = 3;
const cutBeforeMs = 400;
const nginx = ["/usr/sbin/nginx", "/usr/bin/nginx"].find((path) => existsSync(path));

/**
 * Three nodes on a primary with a synchronous standby, behind nginx where there is one. Each node is killed with -9 and started
 * again; the primary is killed with -9 and the standby promoted. Every acknowledged plant must be on the new primary.
 */
export async function runCluster({ rounds, random, tell }: SoakRun): Promise<Figures> {
  let [acknowledged, lost, silenceMs] = [0, 0, 0];
  for (let round = 1; round <= rounds; round++) {
    const result = await runRound(random);
    acknowledged += result.acknowledged;
    lost += result.lost;
    silenceMs = Math.max(silenceMs, result.silenceMs);
    tell(`cluster: round ${round} of ${rounds}: ${JSON.stringify(result)}`);
  }
  const note = `${nginx === undefined ? "without a proxy" : "behind nginx"}, silent for at most ${silenceMs} ms`;
  return judged({ what: "failover of a cluster", rounds: String(rounds), acknowledged, lost, note });
}

async function runRound(
  random: () => number,
): Promise<{ acknowledged: number; lost: number; silenceMs: number }> {
  await using pair = await startPair();
  const { primary, standby, link, database, onStandby } = pair;
  const both = database.replace(`:${primary.port}/`, `:${primary.port},127.0.0.1:${standby.port}/`);
  const ports = await Promise.all(Array.from({ length: nodeCount }, freePort));
  const startNode = (port: number) => serveOn(both, { PLANT_STORE_LISTEN: `127.0.0.1:${port}` });
  const nodes = await Promise.all(ports.map(startNode));
  using folder = temporaryFolder();
  await using proxy = nginx === undefined ? undefined : await startProxy(nginx, ports, folder.path);
  // Without nginx, clients know all nodes.
  const load = new Clients(clients, () => proxy?.url ?? nodes[Math.floor(random() * nodeCount)]?.url);
  const replaceNodes = async (): Promise<void> => {
    for (const [index, port] of ports.entries()) {
      await load.acknowledgedAgain();
      await nodes[index]?.[Symbol.asyncDispose]();
      nodes[index] = await startNode(port);
    }
  };
  await replaceNodes();
  await load.acknowledgedAgain();
  // Later commits of the primary never reach the standby, so none of them may be acknowledged.
  link.cut();
  await Bun.sleep(cutBeforeMs);
  await primary.crash();
  await standby.run("SELECT pg_promote()");
  await replaceNodes();
  await load.acknowledgedAgain();
  await load.stop();
  for (const node of nodes) await node[Symbol.asyncDispose]();
  const lost = await load.lostIn(() => standby.stored(onStandby));
  return { acknowledged: load.acknowledged, lost, silenceMs: Math.round(load.silenceMs) };
}

/** A primary with a synchronous standby behind a link that can be cut. */
export async function startPair() {
  await using stack = new AsyncDisposableStack();
  const primary = stack.use(await startPostgres());
  const database = await primary.newDatabase();
  const link = stack.use(await startTcpProxy(primary.port));
  const settings = {
    primary_conninfo: `host=127.0.0.1 port=${link.port} user=postgres`,
    wal_retrieve_retry_interval: "100ms",
  };
  const standby = stack.use(await startPostgres({ standbyOf: primary, settings }));
  await primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await primary.run("SELECT pg_reload_conf()");
  const onStandby = database.replace(`:${primary.port}/`, `:${standby.port}/`);
  const servers = stack.move();
  return {
    primary,
    standby,
    link,
    database,
    onStandby,
    [Symbol.asyncDispose]: () => servers.disposeAsync(),
  };
}

async function startProxy(binary: string, ports: readonly number[], folder: string) {
  const port = await freePort();
  const upstream = ports.map((one) => `server 127.0.0.1:${one} max_fails=0;`).join(" ");
  const configuration = [
    "daemon off; worker_processes 1; pid nginx.pid; error_log stderr crit;",
    "events { worker_connections 1024; }",
    "http { access_log off; client_body_temp_path body; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;",
    `upstream nodes { ${upstream} keepalive 64; }`,
    `server { listen 127.0.0.1:${port}; location / { proxy_pass http://nodes; proxy_http_version 1.1; proxy_set_header Connection "";`,
    // A create may be sent to another node: the id makes it safe.
    "proxy_next_upstream error timeout non_idempotent; } } }",
  ];
  writeFileSync(join(folder, "nginx.conf"), configuration.join("\n"));
  const child = start(binary, ["-p", folder, "-c", "nginx.conf"], {});
  const { ended } = watch(child);
  const url = `http://127.0.0.1:${port}`;
  await eventually(async () => (await fetch(`${url}/readyz`)).ok, "a node to be ready behind nginx");
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await ended;
    },
  };
}
