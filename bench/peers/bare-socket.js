// The floor: a socket of Bun that parses nothing. It answers whatever arrives with a constant response. bun bare-socket.js PORT
const body = '{"name":"Fern","tag":"indoor"}';
const response = Buffer.from(
  `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
);
Bun.listen({
  hostname: "127.0.0.1",
  port: Number(process.argv[2]),
  socket: {
    data(socket) {
      socket.write(response);
    },
  },
});
