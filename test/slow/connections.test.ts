import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { accessToken, eventually, operatorToken, post, temporaryFolder } from "../harness.ts";

const main = join(import.meta.dir, "../../src/main.ts");
const descriptors = 1024;
const clients = 1100;

test(`${clients} idle connections within ${descriptors} descriptors do not keep a plant out`, async () => {
  await using service = await startWithDescriptors(descriptors);
  const { child, url, operatorUrl } = service;

  const sockets: Socket[] = [];
  let closed = 0;
  for (let count = 0; count < clients; count++) {
    const socket = connect({ port: Number(new URL(url).port), host: "127.0.0.1" });
    socket.on("close", () => closed++);
    socket.on("error", () => {});
    await new Promise((resolve) => socket.once("connect", resolve));
    sockets.push(socket);
  }
  await eventually(() => closed > 200);
  expect((await post(url, '{"id":1,"name":"a"}')).status).toBe(200);
  const metrics = await fetch(`${operatorUrl}/metrics`, {
    headers: { Authorization: `Bearer ${operatorToken}` },
  });
  const counted = /^plant_store_idle_connections_closed_total (\d+)$/m.exec(await metrics.text())?.[1];
  expect(Number(counted)).toBeGreaterThan(200);
  expect(service.logged()).toContain("the connection limit is reached");
  expect(service.logged().split("\n").length).toBeLessThan(40);

  if (process.platform === "linux") {
    const before = cpuTicks(child.pid);
    await Bun.sleep(1000);
    // A loop that spins takes 100; one that shares a core with others still takes dozens.
    expect(cpuTicks(child.pid) - before).toBeLessThan(15);
  }
  for (const socket of sockets) socket.destroy();
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
}, 60_000);

/** The service as a separate process, with that many file descriptors. */
async function startWithDescriptors(descriptors: number) {
  const folder = temporaryFolder();
  const flags = "--listen 127.0.0.1:0 --operator-listen 127.0.0.1:0";
  const script = `ulimit -n ${descriptors}; exec ${process.execPath} ${main} serve ${flags} --database ${folder.path}/p.db`;
  const child = Bun.spawn(["sh", "-c", script], {
    env: {
      PATH: process.env["PATH"] ?? "",
      PLANT_STORE_ACCESS_TOKEN: accessToken,
      PLANT_STORE_OPERATOR_TOKEN: operatorToken,
    },
    stdout: "ignore",
    stderr: "pipe",
  });
  let err = "";
  const reading = (async () => {
    for await (const bytes of child.stderr) err += new TextDecoder().decode(bytes);
  })();
  await eventually(() => err.includes("listening"));
  return {
    child,
    url: /"url\.full":"([^"]+)"/.exec(err)?.[1] ?? "",
    operatorUrl: /"plant_store\.operator_url":"([^"]+)"/.exec(err)?.[1] ?? "",
    logged: () => err,
    async [Symbol.asyncDispose]() {
      child.kill("SIGTERM");
      await child.exited;
      await reading;
      folder[Symbol.dispose]();
    },
  };
}

/** Time on the processor, in hundredths of a second. */
function cpuTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(" ");
  return Number(fields[13]) + Number(fields[14]);
}
