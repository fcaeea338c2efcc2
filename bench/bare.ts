// The baseline: a bare Bun.serve that reads the body and returns a constant. bun bench/bare.ts PORT [CERT KEY]
const [port, cert = "", key = ""] = process.argv.slice(2);
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  development: false,
  ...(cert !== "" && { tls: { cert: Bun.file(cert), key: Bun.file(key) } }),
  async fetch(request) {
    await request.bytes();
    return new Response('{"name":"Fern","tag":"indoor"}');
  },
});
