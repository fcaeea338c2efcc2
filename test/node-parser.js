// Run by test/differential.test.ts under Node: says how Node's own HTTP parser reads each head it is sent.
import { createServer } from "node:http";
import { connect } from "node:net";
import { createInterface } from "node:readline";

let accepted;
const server = createServer((request, response) => {
  const { method, url, headers } = request;
  accepted = { method, url, length: headers["content-length"], coding: headers["transfer-encoding"] };
  response.end();
  request.socket.destroy();
});
server.on("clientError", (_, socket) => socket.destroy());
server.listen(0, "127.0.0.1", async () => {
  for await (const line of createInterface({ input: process.stdin })) {
    accepted = undefined;
    await new Promise((resolve) => {
      const socket = connect(server.address().port, "127.0.0.1", () =>
        socket.end(Buffer.from(JSON.parse(line), "latin1")),
      );
      socket.on("error", () => {});
      socket.on("close", resolve);
      socket.resume();
    });
    console.log(JSON.stringify(accepted ?? null));
  }
  server.close();
});
