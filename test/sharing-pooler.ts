import { connect, createServer, type Socket } from "node:net";

const sslRequest = 80_877_103;
const lengthBytes = 4;
const readyForQuery = "Z".charCodeAt(0);
const terminate = "X".charCodeAt(0);

/**
 * A pooler whose clients share one server session, one transaction at a time, as PgBouncer does with
 * `pool_mode = transaction`.
 */
export async function startSharingPooler(serverPort: number): Promise<{ port: number } & Disposable> {
  const server = connect(serverPort, "127.0.0.1");
  const greeting: Buffer[] = [];
  const queue: { client: Socket; messages: Buffer[] }[] = [];
  let startup: Buffer | undefined;
  let greeted = false;
  let served: Socket | undefined;
  const next = () => {
    const turn = queue.shift();
    served = turn?.client;
    for (const message of turn?.messages ?? []) server.write(message);
  };
  server.on("error", () => {});
  server.on(
    "data",
    messagesOf((message) => {
      const ready = message[0] === readyForQuery;
      if (!greeted) {
        greeting.push(message);
        greeted = ready;
      } else served?.write(message);
      // The letter I means idle: no transaction is open.
      if (ready && message[5] === 73) next();
    }),
  );
  const listener = createServer((client) => {
    client.on("error", () => {});
    let started = false;
    const forward = messagesOf((message) => {
      if (message[0] === terminate) return;
      if (served === client) server.write(message);
      else {
        const waiting = queue.find((turn) => turn.client === client);
        if (waiting === undefined) queue.push({ client, messages: [message] });
        else waiting.messages.push(message);
        if (served === undefined && greeted) next();
      }
    });
    client.on("data", async (bytes: Buffer) => {
      if (started) return forward(bytes);
      if (bytes.readInt32BE(lengthBytes) === sslRequest) return void client.write("N");
      started = true;
      if (startup === undefined) {
        startup = bytes;
        server.write(bytes);
      }
      while (!greeted) await Bun.sleep(5);
      for (const message of greeting) client.write(message);
    });
  });
  await new Promise<void>((resolve) => listener.listen(0, "127.0.0.1", resolve));
  const { port } = listener.address() as { port: number };
  return {
    port,
    [Symbol.dispose]() {
      listener.close();
      server.destroy();
    },
  };
}

/** Splits a stream into messages: a letter, a length that includes itself, and the content. */
function messagesOf(take: (message: Buffer) => void): (bytes: Buffer) => void {
  let held = Buffer.alloc(0);
  return (bytes) => {
    held = Buffer.concat([held, bytes]);
    while (held.length > lengthBytes) {
      const end = 1 + held.readInt32BE(1);
      if (held.length < end) return;
      take(held.subarray(0, end));
      held = held.subarray(end);
    }
  };
}
