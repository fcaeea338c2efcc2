import { connect, createServer, type Socket } from "node:net";

/** The line between a primary and its standby, which can be cut without either of them noticing, and restored. */
export async function startWire(to: number) {
  let isCut = false;
  const ends = new Set<Socket>();
  const server = createServer((near) => {
    const far = connect(to, "127.0.0.1");
    const pass = (from: Socket, into: Socket) => {
      ends.add(from);
      from.on("data", (bytes) => void (isCut || into.write(bytes)));
      from.on("close", () => {
        ends.delete(from);
        into.destroy();
      });
      from.on("error", () => {});
    };
    pass(near, far);
    pass(far, near);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  return {
    port,
    cut() {
      isCut = true;
    },
    /** The open connections have lost bytes, so both ends must connect again. */
    restore() {
      isCut = false;
      for (const end of ends) end.destroy();
    },
    [Symbol.dispose]() {
      for (const end of ends) end.destroy();
      server.close();
    },
  };
}
