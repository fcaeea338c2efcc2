// The yardstick: a bare Bun.serve that reads the body and answers a constant. bun bench/bare.ts PORT
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  development: false,
  async fetch(request) {
    await request.bytes();
    return new Response('{"name":"Fern","tag":"indoor"}');
  },
});
