// A load of POST /plants over keep-alive connections, as a process of its own; prints what it measured as JSON.
// bun bench/load.ts PORT CONNECTIONS SECONDS TOKEN FIRST_ID [sequential|random] [equal|differing] [RATE] [CA] [PATH] [ID_FIELD]
// Random ids are spread over all of int64. Differing headers are an X-Request-Id and a traceparent, new in each request. With a rate,
// that many are sent each second, evenly over the connections, to the millisecond. With the file of a certificate authority, the connections use TLS.
import { cc, ptr } from "bun:ffi";
import { join } from "node:path";
import { tlsLoad } from "./tls-load.ts";

const [port, connections, seconds, token, firstId, order, headers, rate = "0", ca = "", ...other] =
  process.argv.slice(2);
const [path = "/plants", idField = "id"] = other;
const head =
  `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${token}\r\n` +
  "Content-Type: application/json\r\n";
const isRandom = order === "random";
const common = {
  port: Number(port),
  connections: Number(connections),
  seconds: Number(seconds),
  firstId: Number(firstId),
  isRandom,
  head,
};
const startCpu = process.cpuUsage();
const startMs = performance.now();
const report = ca === "" ? plainLoad() : await tlsLoad({ ...common, caFile: ca });
const { user, system } = process.cpuUsage(startCpu);
console.log(JSON.stringify({ ...report, cores: (user + system) / 1000 / (performance.now() - startMs) }));
process.exit(0);

function plainLoad() {
  const { symbols } = cc({
    source: join(import.meta.dir, "load.c"),
    symbols: {
      run: {
        args: ["int", "int", "double", "ptr", "ptr", "i64", "int", "int", "double", "ptr"],
        returns: "int",
      },
    },
  });
  const result = new Float64Array(9);
  // Named, so that neither is collected before the call.
  const headText = Buffer.from(`${head}\0`);
  const bodyOpen = Buffer.from(`{"${idField}":\0`);
  const failed = symbols.run(
    common.port,
    common.connections,
    common.seconds,
    ptr(headText),
    ptr(bodyOpen),
    BigInt(common.firstId),
    Number(isRandom),
    Number(headers === "differing"),
    Number(rate) > 0 ? (1e6 * common.connections) / Number(rate) : 0,
    ptr(result),
  );
  if (failed !== 0)
    throw new Error(["", "could not connect", "could not send", "the server closed a connection"][failed]);
  const [answered = 0, refused = 0, nextId = 0, elapsedUs = 0, p50Us, p99Us, p999Us, maxUs, silenceUs = 0] =
    result;
  const perSecond = answered / (elapsedUs / 1e6);
  return {
    rate: perSecond,
    answered,
    refused,
    nextId,
    p50Us,
    p99Us,
    p999Us,
    maxUs,
    longestSilenceMs: silenceUs / 1000,
  };
}
