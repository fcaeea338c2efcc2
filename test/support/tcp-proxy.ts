import { connect, createServer, type Socket } from "node:net";

/**
 * A TCP proxy to a local server, for example between a node and its database. It can drop all bytes without closing a connection,
 * close every connection, and lose the answers to some messages.
 */
export async function startTcpProxy(to: number) {
  let isCut = false;
  let isRefusing = false;
  let refused = 0;
  let lost = 0;
  let text: string | undefined;
  const ends = new Set<Socket>();
  const server = createServer((near) => {
    if (isRefusing) {
      refused++;
      near.destroy();
      return;
    }
    const far = connect(to, "127.0.0.1");
    let isLosing = false;
    const pass = (from: Socket, into: Socket) => {
      ends.add(from);
      from.on("data", (bytes) => {
        if (from === near) isLosing ||= text !== undefined && bytes.includes(text);
        else if (isLosing) {
          lost++;
          near.destroy();
          return;
        }
        if (!isCut) into.write(bytes);
      });
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
  const closeAll = () => {
    for (const end of ends) end.destroy();
  };
  return {
    port,
    cut() {
      isCut = true;
    },
    /** Open connections have lost bytes, so both ends must reconnect. */
    restore() {
      isCut = false;
      closeAll();
    },
    /** Closes every connection, as if the server were not running. */
    refuse() {
      isRefusing = true;
      closeAll();
    },
    accept() {
      isRefusing = false;
    },
    /** How many connections were refused so far. */
    refused: () => refused,
    /** From now on closes a connection instead of passing on the response to a message with that text; undefined ends this. */
    loseResponsesTo(message: string | undefined) {
      text = message;
    },
    /** How many responses were lost so far. */
    lost: () => lost,
    [Symbol.dispose]() {
      closeAll();
      server.close();
    },
  };
}
