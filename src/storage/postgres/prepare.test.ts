import { expect, test } from "bun:test";
import { fake } from "../../../test/support/fake.ts";
import { prepare } from "./prepare.ts";
import type { Server } from "./server.ts";
import type { Session } from "./session.ts";

test("sessions that a pooler shares among its connections are refused", async () => {
  let name: string | null = null;
  // Every connection gets the same session.
  const run: Session["run"] = async ({ text }, [value] = []) => {
    if (text.includes("set_config")) name = String(value);
    return [[name]];
  };
  const session = fake<Session>({ run, destroy() {} });
  const server = fake<Server>({ open: async () => session });
  const preparing = prepare({
    server,
    changes: "upgrade",
    timeoutMs: 0,
    onWaiting: () => {},
    signal: new AbortController().signal,
  });
  await expect(preparing).rejects.toThrow("a pooler shares sessions between clients");
});
