// The baseline: a bare Bun.serve that reads the body and returns a constant. bun bare.js PORT
Bun.serve({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  development: false,
  async fetch(request) {
    await request.bytes();
    return new Response('{"name":"Fern","tag":"indoor"}');
  },
});
