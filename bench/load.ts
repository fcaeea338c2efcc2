// A load of POST /plants over keep-alive connections, as a process of its own; prints what it measured as JSON.
// bun bench/load.ts PORT CONNECTIONS SECONDS TOKEN FIRST_ID [sequential|random] [RATE] [CA]
// With the file of a certificate authority, the connections use TLS.
// Random ids are spread over all of int64. With a rate, that many are sent each second, evenly over the connections.
import type { Socket } from "bun";

const [port, connections, seconds, token, firstId, order = "sequential", wanted = "0", caFile = ""] =
  process.argv.slice(2);
const pauseMs = Number(wanted) > 0 ? (1000 * Number(connections)) / Number(wanted) : 0;
const head =
  `POST /plants HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n` +
  "Content-Length: ";
const okStatus = Buffer.from("HTTP/1.1 20");
// Some few, as real plants have; the store keeps an index of them.
const tags = ["indoor", "outdoor", "herb", "tree", "succulent", "fern", "rare", "balcony"];
const endOfHead = Buffer.from("\r\n\r\n");

let nextId = Number(firstId);
let answered = 0;
let refused = 0;
let running = true;
let longestSilenceMs = 0;
let lastAnswerMs = performance.now();
const latenciesUs: number[] = [];

interface Client {
  sentMs: number;
  partial: Buffer | undefined;
}

const tls = caFile === "" ? undefined : { ca: await Bun.file(caFile).text() };
const open: Socket<Client>[] = [];
for (let index = 0; index < Number(connections); index++) {
  const handshake = Promise.withResolvers<void>();
  const socket = await Bun.connect<Client>({
    hostname: "127.0.0.1",
    port: Number(port),
    data: { sentMs: 0, partial: undefined },
    ...(tls && { tls }),
    socket: { data: received, handshake: () => handshake.resolve() },
  });
  if (tls !== undefined) await handshake.promise;
  open.push(socket);
}
const startMs = performance.now();
lastAnswerMs = startMs;
for (const [index, socket] of open.entries()) setTimeout(() => send(socket), (pauseMs * index) / open.length);
await Bun.sleep(Number(seconds) * 1000);
running = false;
const elapsedSeconds = (performance.now() - startMs) / 1000;
latenciesUs.sort((a, b) => a - b);
const quantile = (share: number) => Math.round(latenciesUs[Math.floor(latenciesUs.length * share)] ?? 0);
const report = {
  rate: answered / elapsedSeconds,
  answered,
  refused,
  nextId,
  p50Us: quantile(0.5),
  p99Us: quantile(0.99),
  p999Us: quantile(0.999),
  maxUs: Math.round(latenciesUs.at(-1) ?? 0),
  longestSilenceMs,
};
console.log(JSON.stringify(report));
process.exit(0);

function received(client: Socket<Client>, bytes: Buffer): void {
  const all = client.data.partial === undefined ? bytes : Buffer.concat([client.data.partial, bytes]);
  if (!isWhole(all)) {
    client.data.partial = all;
    return;
  }
  client.data.partial = undefined;
  const nowMs = performance.now();
  longestSilenceMs = Math.max(longestSilenceMs, nowMs - lastAnswerMs);
  lastAnswerMs = nowMs;
  latenciesUs.push((nowMs - client.data.sentMs) * 1000);
  if (all.subarray(0, okStatus.length).equals(okStatus)) answered++;
  else refused++;
  if (!running) return;
  const waitMs = pauseMs - (nowMs - client.data.sentMs);
  if (waitMs > 0) setTimeout(() => send(client), waitMs);
  else send(client);
}

function send(client: Socket<Client>): void {
  const number = nextId++;
  const id = order === "random" ? BigInt.asIntN(64, BigInt(number) * 0x9e3779b97f4a7c15n) : number;
  const body = `{"id":${id},"name":"Fern number ${number}","tag":"${tags[number % tags.length]}"}`;
  client.data.sentMs = performance.now();
  client.write(`${head}${body.length}\r\n\r\n${body}`);
}

function isWhole(bytes: Buffer): boolean {
  const end = bytes.indexOf(endOfHead);
  if (end < 0) return false;
  const text = bytes.toString("latin1", 0, end);
  if (/transfer-encoding: chunked/i.test(text)) return bytes.toString("latin1").endsWith("0\r\n\r\n");
  const length = /content-length: (\d+)/i.exec(text)?.[1];
  return bytes.length >= end + endOfHead.length + Number(length ?? 0);
}
