import { expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Serving, serve, start, watch } from "../command.ts";
import { accessToken, eventually, post, temporaryFolder } from "../harness.ts";
import { freePort, startPostgres } from "../postgres.ts";
import { startTcpProxy } from "../tcp-proxy.ts";

const clients = 24;
const nodeCount = 3;
/** How many plants are acknowledged between one event and the next. */
const plantsBetween = 500;
const clusterMsMax = 600_000;
const nginx = ["/usr/sbin/nginx", "/usr/bin/nginx"].find((path) => existsSync(path));

test(
  "nodes lose nothing acknowledged when they and the primary are killed, and the standby is promoted",
  async () => {
    await using primary = await startPostgres();
    const database = await primary.newDatabase();
    using link = await startTcpProxy(primary.port);
    const settings = { primary_conninfo: `host=127.0.0.1 port=${link.port} user=postgres` };
    await using standby = await startPostgres({ standbyOf: primary, settings });
    await primary.run("ALTER SYSTEM SET synchronous_standby_names = '*'");
    await primary.run("SELECT pg_reload_conf()");
    const both = database.replace(`:${primary.port}/`, `:${primary.port},127.0.0.1:${standby.port}/`);
    const ports = await Promise.all(Array.from({ length: nodeCount }, freePort));
    const nodes = await Promise.all(ports.map((port) => startNode(port, both)));
    using folder = temporaryFolder();
    await using proxy = nginx === undefined ? undefined : await startProxy(nginx, ports, folder.path);
    // Without nginx, clients know all nodes.
    const address = (count: number) => proxy?.url ?? `http://127.0.0.1:${ports[count % nodeCount]}`;

    const ledger = new Map<bigint, string>();
    let isLoading = true;
    const load = Array.from({ length: clients }, async (_, client) => {
      for (let count = 0; isLoading; count++) {
        const id = BigInt.asIntN(64, BigInt(count * clients + client) * 0x9e3779b97f4a7c15n);
        const name = `plant ${id} of client ${client}`;
        // Until it is acknowledged: sending again is always safe.
        const send = () => post(address(count), `{"id":${id},"name":"${name}"}`);
        const status = () =>
          send().then(
            (response) => response.status,
            () => 0,
          );
        while (isLoading && (await status()) !== 200) await Bun.sleep(50);
        if (isLoading) ledger.set(id, name);
      }
    });
    const more = (plants = plantsBetween) => {
      const goal = ledger.size + plants;
      return eventually(() => ledger.size >= goal, `${plants} more acknowledged plants`);
    };
    const replaceNode = async (index: number) => {
      await nodes[index]?.[Symbol.asyncDispose]();
      nodes[index] = await startNode(ports[index] ?? 0, both);
      await more();
    };
    await more();
    for (const index of nodes.keys()) await replaceNode(index);
    // Later commits of the primary never reach the standby, so none of them may be acknowledged.
    link.cut();
    await Bun.sleep(400);
    await primary.crash();
    await standby.run("SELECT pg_promote()");
    await more();
    for (const index of nodes.keys()) await replaceNode(index);
    isLoading = false;
    await Promise.all(load);
    for (const node of nodes) await node[Symbol.asyncDispose]();
    const promoted = database.replace(`:${primary.port}/`, `:${standby.port}/`);
    const stored = new Map((await standby.stored(promoted)).map(({ id, name }) => [id, name]));
    expect([...ledger].filter(([id, name]) => stored.get(id) !== name)).toEqual([]);
  },
  clusterMsMax,
);

function startNode(port: number, database: string): Promise<Serving> {
  return serve(["--listen", `127.0.0.1:${port}`, "--database", database], {
    environment: { PLANT_STORE_ACCESS_TOKEN: accessToken },
  });
}

async function startProxy(nginx: string, ports: readonly number[], folder: string) {
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
  const child = start(nginx, ["-p", folder, "-c", "nginx.conf"], {});
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
