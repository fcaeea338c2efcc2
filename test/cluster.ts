// npm run test:cluster [ROUNDS]
// A primary with a synchronous standby, three nodes behind nginx, and a load that records every acknowledged
// plant. Nodes are killed with -9 and restarted; the primary is killed with -9 and the standby promoted. At the
// end every acknowledged plant must be on the new primary, unchanged.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { accessToken, temporaryFolder } from "./harness.ts";
import { startPostgres } from "./postgres.ts";
import { startTcpProxy } from "./tcp-proxy.ts";

const rounds = Number(process.argv[2] ?? 1);
const clients = 24;
const nodeCount = 3;
const loadMs = 18_000;
const primaryDiesMs = 8000;
const cutBeforeMs = 400;
const promotedAfterMs = 400;
const nodeDiesEveryMs = 2500;
const main = join(import.meta.dir, "../src/main.ts");
const nginx = ["/usr/sbin/nginx", "/usr/bin/nginx"].find((path) => existsSync(path));

let failed = false;
for (let round = 1; round <= rounds; round++) {
  const report = await runRound();
  console.log(`round ${round} of ${rounds}: ${JSON.stringify(report)}`);
  failed ||= report.missing > 0 || report.different > 0 || report.awayBeyondDatabaseMs > 2000;
}
console.log(failed ? "FAILED" : "Everything acknowledged is there, as it was sent.");
process.exit(failed ? 1 : 0);

async function runRound() {
  await using primary = await startPostgres();
  const database = await primary.newDatabase();
  using link = await startTcpProxy(primary.port);
  const settings = { primary_conninfo: `host=127.0.0.1 port=${link.port} user=postgres` };
  await using standby = await startPostgres({ standbyOf: primary, settings });
  await primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'");
  await primary.run("SELECT pg_reload_conf()");
  const promoted = database.replace(`:${primary.port}/`, `:${standby.port}/`);
  const both = database.replace(`:${primary.port}/`, `:${primary.port},127.0.0.1:${standby.port}/`);

  const ports = Array.from({ length: nodeCount }, freePort);
  const nodes = ports.map((port) => startNode(port, both));
  await Promise.all(ports.map(answering));
  using folder = temporaryFolder();
  const proxy = startProxy(ports, folder.path);
  if (proxy !== undefined) await answering(proxy.port);
  const ledger = new Map<string, string>();
  const startMs = performance.now();
  const sinceMs = () => performance.now() - startMs;
  let lastFailureMs = 0;
  let failures = 0;
  let longestSilenceMs = 0;
  let lastAcknowledgedMs = 0;

  const client = async (number: number): Promise<void> => {
    for (let count = 0; sinceMs() < loadMs; count++) {
      const id = String(BigInt.asIntN(64, BigInt(count * clients + number) * 0x9e3779b97f4a7c15n));
      const name = `plant ${id} of client ${number}`;
      // Until it is acknowledged: sending again is always safe.
      while (sinceMs() < loadMs && !(await acknowledged(id, name))) {
        failures++;
        lastFailureMs = sinceMs();
        await Bun.sleep(50);
      }
    }
  };
  const acknowledged = async (id: string, name: string): Promise<boolean> => {
    const port = proxy?.port ?? ports[Math.floor(Math.random() * nodeCount)];
    const status = await send(port ?? 0, id, name);
    if (status !== 200) return false;
    ledger.set(id, name);
    longestSilenceMs = Math.max(longestSilenceMs, sinceMs() - lastAcknowledgedMs);
    lastAcknowledgedMs = sinceMs();
    return true;
  };
  const killNodes = async (): Promise<void> => {
    for (let index = 0; sinceMs() < loadMs - nodeDiesEveryMs; index = (index + 1) % nodeCount) {
      await Bun.sleep(nodeDiesEveryMs);
      nodes[index]?.kill("SIGKILL");
      await nodes[index]?.exited;
      nodes[index] = startNode(ports[index] ?? 0, both);
    }
  };
  const killPrimary = async (): Promise<{ goneMs: number; backMs: number }> => {
    await Bun.sleep(primaryDiesMs);
    const goneMs = sinceMs();
    // Later commits of the primary never reach the standby, so none of them may be acknowledged.
    link.cut();
    await Bun.sleep(cutBeforeMs);
    await primary.crash();
    await Bun.sleep(promotedAfterMs);
    await standby.run("SELECT pg_promote()");
    return { goneMs, backMs: sinceMs() };
  };

  const [{ goneMs, backMs }] = await Promise.all([
    killPrimary(),
    killNodes(),
    ...Array.from({ length: clients }, (_, number) => client(number)),
  ]);
  for (const node of nodes) node.kill("SIGTERM");
  await Promise.all(nodes.map((node) => node.exited));
  proxy?.child.kill("SIGTERM");
  await proxy?.child.exited;
  const stored = new Map((await standby.stored(promoted)).map(({ id, name }) => [String(id), name]));
  return {
    acknowledged: ledger.size,
    stored: stored.size,
    missing: [...ledger.keys()].filter((id) => !stored.has(id)).length,
    different: [...ledger].filter(([id, name]) => stored.has(id) && stored.get(id) !== name).length,
    refusedOrLost: failures,
    databaseAwayMs: Math.round(backMs - goneMs),
    longestSilenceMs: Math.round(longestSilenceMs),
    awayBeyondDatabaseMs: Math.round(longestSilenceMs - (backMs - goneMs)),
    lastFailureAtMs: Math.round(lastFailureMs),
    through: proxy === undefined ? "three ports" : "nginx",
  };
}

function startNode(port: number, database: string) {
  const listen = ["--listen", `127.0.0.1:${port}`, "--operator-listen", "off"];
  return Bun.spawn([process.execPath, main, "serve", ...listen, "--database", database], {
    env: {
      PATH: process.env["PATH"] ?? "",
      PLANT_STORE_ACCESS_TOKEN: accessToken,
      PLANT_STORE_LOG_LEVEL: "off",
    },
    stdout: "ignore",
    stderr: "inherit",
  });
}

function startProxy(ports: readonly number[], folder: string) {
  if (nginx === undefined) return undefined;
  const port = freePort();
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
  const child = Bun.spawn([nginx, "-p", folder, "-c", "nginx.conf"], { stdout: "ignore", stderr: "inherit" });
  return { port, child };
}

async function send(port: number, id: string, name: string): Promise<number> {
  try {
    const response = await fetch(`http://127.0.0.1:${port}/plants`, {
      method: "POST",
      headers: { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" },
      body: `{"id":${id},"name":${JSON.stringify(name)}}`,
    });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}

async function answering(port: number): Promise<void> {
  const startMs = performance.now();
  for (;;) {
    const status = await fetch(`http://127.0.0.1:${port}/readyz`).then(
      (response) => response.status,
      () => 0,
    );
    if (status === 200) return;
    if (performance.now() - startMs > 20_000) throw new Error(`nothing answers on ${port}`);
    await Bun.sleep(20);
  }
}

function freePort(): number {
  const listener = Bun.listen({ hostname: "127.0.0.1", port: 0, socket: { data() {} } });
  const { port } = listener;
  listener.stop(true);
  return port;
}
