// A load of POST /plants over keep-alive connections, as a process of its own; prints what it measured as JSON.
// bun bench/load.ts PORT CONNECTIONS SECONDS TOKEN FIRST_ID
import type { Socket } from "bun";

const [port = 3000, connections = 64, seconds = 3, token = "", firstId = "0"] = process.argv.slice(2);
const head =
  `POST /plants HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
  "Content-Length: ";
const okStatus = Buffer.from("HTTP/1.1 200");
const endOfHead = Buffer.from("\r\n\r\n");

let nextId = Number(firstId);
let answered = 0;
let refused = 0;
let running = true;
const latenciesUs: number[] = [];

interface Client {
  sentMs: number;
  partial: Buffer | undefined;
}

const open: Socket<Client>[] = [];
const startMs = performance.now();
for (let index = 0; index < Number(connections); index++) {
  const socket = await Bun.connect<Client>({
    hostname: "127.0.0.1",
    port: Number(port),
    data: { sentMs: 0, partial: undefined },
    socket: {
      data(client, bytes) {
        const all = client.data.partial === undefined ? bytes : Buffer.concat([client.data.partial, bytes]);
        if (!isWhole(all)) {
          client.data.partial = all;
          return;
        }
        client.data.partial = undefined;
        latenciesUs.push((performance.now() - client.data.sentMs) * 1000);
        if (all.subarray(0, okStatus.length).equals(okStatus)) answered++;
        else refused++;
        if (running) send(client);
      },
    },
  });
  open.push(socket);
}
for (const socket of open) send(socket);
await Bun.sleep(Number(seconds) * 1000);
running = false;
const elapsedSeconds = (performance.now() - startMs) / 1000;
const rate = answered / elapsedSeconds;
latenciesUs.sort((a, b) => a - b);
const quantile = (share: number) => Math.round(latenciesUs[Math.floor(latenciesUs.length * share)] ?? 0);
console.log(
  JSON.stringify({
    rate,
    answered,
    refused,
    nextId,
    p50Us: quantile(0.5),
    p99Us: quantile(0.99),
    p999Us: quantile(0.999),
  }),
);
process.exit(0);

function send(client: Socket<Client>): void {
  const id = nextId++;
  const body = `{"id":${id},"name":"Fern number ${id}","tag":"indoor"}`;
  client.data.sentMs = performance.now();
  client.write(`${head}${body.length}\r\n\r\n${body}`);
}

function isWhole(bytes: Buffer): boolean {
  const end = bytes.indexOf(endOfHead);
  if (end < 0) return false;
  const length = /content-length: (\d+)/i.exec(bytes.toString("latin1", 0, end))?.[1];
  return bytes.length >= end + endOfHead.length + Number(length ?? 0);
}
