import { expect, test } from "bun:test";
import { prepare } from "./prepare.ts";
import type { Server } from "./server.ts";

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
