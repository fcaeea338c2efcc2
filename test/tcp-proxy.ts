import { connect, createServer, type Socket } from "node:net";

/**
 * A TCP proxy to a local server, for example between a standby and its primary. It can drop all bytes without closing a
 * connection, and limit the rate towards the server. A function for the port allows the server to move.
 */
export async function startTcpProxy(to: number | (() => number), bytesPerSecond = Number.POSITIVE_INFINITY) {
  let isCut = false;
  let isRefusing = false;
  const ends = new Set<Socket>();
  const server = createServer((near) => {
    if (isRefusing) return void near.destroy();
    const far = connect(typeof to === "number" ? to : to(), "127.0.0.1");
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
        // By the clock, which makes up for late timers.
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
    /** Open connections have lost bytes, so both ends must reconnect. */
    restore() {
      isCut = false;
      for (const end of ends) end.destroy();
    },
    /** Closes every connection, as if the server were not running. */
    refuse() {
      isRefusing = true;
      for (const end of ends) end.destroy();
    },
    accept() {
      isRefusing = false;
    },
    [Symbol.dispose]() {
      for (const end of ends) end.destroy();
      server.close();
    },
  };
}
