import { expect, test } from "bun:test";
import { connect } from "node:net";
import { join } from "node:path";
import { start, watch } from "./command.ts";
import { accessToken, eventually, operatorToken, post, temporaryFolder } from "./harness.ts";
import { lacks } from "./lacks.ts";

const main = join(import.meta.dir, "../src/main.ts");
const descriptors = 120;
const clients = 200;

test.skipIf(lacks("/proc", process.platform !== "linux"))(
  `${clients} idle connections within ${descriptors} file descriptors do not keep a plant out`,
  async () => {
    using folder = temporaryFolder();
    const script = `ulimit -n ${descriptors}; exec "$0" "$@"`;
    const child = start("sh", ["-c", script, process.execPath, main, "serve", "--database", "p.db"], {
      folder: folder.path,
      environment: { PLANT_STORE_ACCESS_TOKEN: accessToken, PLANT_STORE_OPERATOR_TOKEN: operatorToken },
    });
    const service = watch(child);
    const addressOf = (field: string) => new RegExp(`"${field}":"([^"]+)"`).exec(service.err())?.[1];
    await eventually(() => addressOf("url.full") !== undefined);
    const [url = "", operatorUrl] = [addressOf("url.full"), addressOf("plant_store.operator_url")];

    let closed = 0;
    for (let count = 0; count < clients; count++) {
      const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1" });
      socket.on("close", () => closed++);
      socket.on("error", () => {});
      await new Promise((resolve) => socket.once("connect", resolve));
    }
    await eventually(() => closed > clients - descriptors);
    expect((await post(url, '{"id":1,"name":"a"}')).status).toBe(200);
    const headers = { Authorization: `Bearer ${operatorToken}` };
    const metrics = await (await fetch(`${operatorUrl}/metrics`, { headers })).text();
    const counted = /^plant_store_idle_connections_closed_total (\d+)$/m.exec(metrics)?.[1];
    expect(Number(counted)).toBeGreaterThan(clients - descriptors);
    expect(service.err()).toContain("the connection limit is reached");
    child.kill("SIGTERM");
    expect((await service.ended).code).toBe(0);
  },
);
