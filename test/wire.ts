import { connect, createServer, type Socket } from "node:net";

/**
 * A line to a server, such as that of a standby to its primary. It can be cut without either end noticing, and restored.
 * It may be slow: then what goes to the server takes its time.
 */
export async function startWire(to: number, bytesPerSecond = Number.POSITIVE_INFINITY) {
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
    if (bytesPerSecond === Number.POSITIVE_INFINITY) pass(near, far);
    else {
      let dueMs = 0;
      ends.add(near);
      near.on("error", () => {});
      near.on("close", () => far.destroy());
      near.on("data", async (bytes: Buffer) => {
        near.pause();
        // By the clock, so that a timer that comes late is made up for.
        dueMs = Math.max(dueMs, performance.now() - 200) + (bytes.length / bytesPerSecond) * 1000;
        if (dueMs > performance.now()) await Bun.sleep(dueMs - performance.now());
        far.write(bytes);
        near.resume();
      });
    }
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
