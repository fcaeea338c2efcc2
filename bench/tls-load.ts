import type { Socket } from "bun";
import type { PlainLoadOptions } from "./plain-load.ts";

export interface TlsLoadOptions extends Pick<PlainLoadOptions, "seconds" | "firstId" | "isRandom" | "head"> {
  readonly port: number;
  readonly connections: number;
  /** The file of a certificate authority. */
  readonly caFile: string;
}

interface Client {
  sentMs: number;
  partial: Buffer | undefined;
}

const okStatus = Buffer.from("HTTP/1.1 20");
// A few, as real plants have; the store has summaries of them.
const tags = ["indoor", "outdoor", "herb", "tree", "succulent", "fern", "rare", "balcony"];
const endOfHead = Buffer.from("\r\n\r\n");

/** A load over TLS. It costs far more of the machine than the one in load.c. */
export async function tlsLoad(options: TlsLoadOptions) {
  const { port, connections, seconds, isRandom, head, caFile } = options;
  const latenciesUs: number[] = [];
  let nextId = options.firstId;
  let answered = 0;
  let refused = 0;
  let running = true;

  const tls = { ca: await Bun.file(caFile).text() };
  const open: Socket<Client>[] = [];
  for (let index = 0; index < connections; index++) {
    const handshake = Promise.withResolvers<void>();
    const socket = await Bun.connect<Client>({
      hostname: "127.0.0.1",
      port,
      data: { sentMs: 0, partial: undefined },
      tls,
      socket: { data: received, handshake: () => handshake.resolve() },
    });
    await handshake.promise;
    open.push(socket);
  }
  const startMs = performance.now();
  for (const socket of open) send(socket);
  await Bun.sleep(seconds * 1000);
  running = false;
  const elapsedSeconds = (performance.now() - startMs) / 1000;
  latenciesUs.sort((a, b) => a - b);
  const quantile = (share: number) => Math.round(latenciesUs[Math.floor(latenciesUs.length * share)] ?? 0);
  return {
    rate: answered / elapsedSeconds,
    answered,
    refused,
    nextId,
    p50Us: quantile(0.5),
    p99Us: quantile(0.99),
    p999Us: quantile(0.999),
    maxUs: Math.round(latenciesUs.at(-1) ?? 0),
    silences: [],
  };

  function received(client: Socket<Client>, bytes: Buffer): void {
    const all = client.data.partial === undefined ? bytes : Buffer.concat([client.data.partial, bytes]);
    client.data.partial = isWhole(all) ? undefined : all;
    if (client.data.partial !== undefined) return;
    const nowMs = performance.now();
    latenciesUs.push((nowMs - client.data.sentMs) * 1000);
    if (all.subarray(0, okStatus.length).equals(okStatus)) answered++;
    else refused++;
    if (running) send(client);
  }

  function send(client: Socket<Client>): void {
    const number = nextId++;
    const id = isRandom ? BigInt.asIntN(64, BigInt(number) * 0x9e3779b97f4a7c15n) : number;
    const body = `{"id":${id},"name":"Fern number ${number}","tag":"${tags[number % tags.length]}"}`;
    client.data.sentMs = performance.now();
    client.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`);
  }
}

function isWhole(bytes: Buffer): boolean {
  const end = bytes.indexOf(endOfHead);
  if (end < 0) return false;
  const text = bytes.toString("latin1", 0, end);
  if (/transfer-encoding: chunked/i.test(text)) return bytes.toString("latin1").endsWith("0\r\n\r\n");
  const length = /content-length: (\d+)/i.exec(text)?.[1];
  return bytes.length >= end + endOfHead.length + Number(length ?? 0);
}
