// A load of POST /plants over keep-alive connections, as a separate process; prints what it measured as JSON.
// bun bench/load.ts PORT CONNECTIONS SECONDS TOKEN FIRST_ID [sequential|random] [equal|differing] [RATE] [CA] [PATH] [ID_FIELD]
// Random ids are spread over all of int64. Differing headers are an X-Request-Id and a traceparent, new in each request. With a rate,
// that many are sent per second, evenly over the connections, to the millisecond. With the file of a certificate authority, the
// connections use TLS.
import { compilePlainLoad, requestHead } from "./plain-load.ts";
import { tlsLoad } from "./tls-load.ts";

const [port, connections, seconds, token, firstId, order, headers, rate = "0", ca = "", ...other] =
  process.argv.slice(2);
const [path = "/plants", idField = "id"] = other;
const isRandom = order === "random";
const common = {
  port: Number(port),
  connections: Number(connections),
  seconds: Number(seconds),
  firstId: Number(firstId),
  isRandom,
  head: requestHead(path, token ?? ""),
};
const startCpu = process.cpuUsage();
const startMs = performance.now();
const options = {
  ...common,
  bodyOpen: `{"${idField}":`,
  differing: headers === "differing",
  rate: Number(rate),
};
const report =
  ca === ""
    ? compilePlainLoad()(common.port, common.connections).run(options)
    : await tlsLoad({ ...common, caFile: ca });
const { user, system } = process.cpuUsage(startCpu);
console.log(JSON.stringify({ ...report, cores: (user + system) / 1000 / (performance.now() - startMs) }));
process.exit(0);
