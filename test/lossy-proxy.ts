import { connect, createServer, type Socket } from "node:net";

/** A TCP proxy that drops the connection when the server responds to a message with that text, until it is repaired. */
export async function startLossyProxy(to: number, text: string) {
  let losing = true;
  let lost = 0;
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(to, "127.0.0.1");
    let asked = false;
    for (const [from, into] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {});
      from.on("close", () => into.destroy());
    }
    near.on("data", (bytes) => {
      asked ||= losing && bytes.includes(text);
      far.write(bytes);
    });
    far.on("data", (bytes) => {
      if (!asked) return void near.write(bytes);
      lost++;
      near.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    port,
    lost: () => lost,
    repair() {
      losing = false;
    },
    [Symbol.dispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
