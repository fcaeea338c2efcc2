import { expect, test } from "bun:test";
import { Server } from "./connection.ts";
import { Connections } from "./connections.ts";
import { ConnectionLost } from "./faults.ts";
import { prepare } from "./prepare.ts";

test("work that runs out of time fails with the last reason, not with the lack of time", async () => {
  let attempts = 0;
  const server = new Server("postgres://one,two/plants", {
    databasePassword: undefined,
    allowUnsafeDatabase: false,
  });
  server.findPrimary = () => {
    attempts++;
    return attempts === 1 ? Promise.reject(new ConnectionLost("read-only")) : new Promise(() => {});
  };
  await using connections = new Connections({ server, count: 1, statementMsMax: 1000 });
  await expect(connections.use(200, async () => {})).rejects.toThrow("read-only");
});

test("sessions that a pooler shares among its connections are refused", async () => {
  let name: unknown;
  // Every connection gets the same session.
  const run = async ({ text }: { text: string }, [value]: readonly unknown[] = []) => {
    if (text.includes("set_config")) name = value;
    return [[name]];
  };
  const server = { open: async () => ({ run, destroy() {} }) } as unknown as Server;
  const preparing = prepare({
    server,
    changes: "upgrade",
    timeoutMs: 0,
    onWaiting: () => {},
    signal: new AbortController().signal,
  });
  await expect(preparing).rejects.toThrow("a pooler shares sessions between clients");
});
