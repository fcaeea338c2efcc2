// The baseline: a bare Bun.serve that reads the body and returns a constant. bun bench/bare.ts PORT [WORKERS] [CERT KEY]
import { fileURLToPath } from "node:url";

const [port, workers = "1", cert = "", key = ""] = process.argv.slice(2);
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  reusePort: true,
  development: false,
  ...(cert !== "" && { tls: { cert: Bun.file(cert), key: Bun.file(key) } }),
  async fetch(request) {
    await request.bytes();
    return new Response('{"name":"Fern","tag":"indoor"}');
  },
});
const children = Array.from({ length: Number(workers) - 1 }, () =>
  Bun.spawn([process.execPath, fileURLToPath(import.meta.url), String(port)]),
);
process.on("SIGTERM", () => {
  for (const child of children) child.kill();
  process.exit(0);
});
