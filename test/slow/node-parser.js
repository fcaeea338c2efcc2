// Run by test/slow/http-parser.test.ts under Node: says which whole requests Node's own HTTP parser finds in each stream of
// bytes, up to where it refuses them.
import { createServer } from "node:http";
import { connect } from "node:net";
import { createInterface } from "node:readline";

let found;
const server = createServer((request, response) => {
  const { method, url, headers } = request;
  let body = "";
  request.setEncoding("latin1");
  request.on("data", (text) => {
    body += text;
  });
  // Only here has the whole of it been read: a body can be refused long after its head was taken.
  request.on("end", () => {
    found.push({ method, url, coding: headers["transfer-encoding"], body });
    response.end();
  });
});
server.on("clientError", (_, socket) => socket.destroy());
server.listen(0, "127.0.0.1", async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    found = [];
    await new Promise((resolve) => {
      const socket = connect(server.address().port, "127.0.0.1", () =>
        socket.end(Buffer.from(JSON.parse(line), "latin1")),
      );
      socket.on("error", () => {});
      socket.on("close", resolve);
      socket.resume();
    });
    console.log(JSON.stringify(found));
  }
  server.close();
});
