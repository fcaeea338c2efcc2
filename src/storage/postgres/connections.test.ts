import { expect, test } from "bun:test";
import { Connections } from "./connections.ts";
import { ConnectionLost } from "./faults.ts";

test("work that runs out of time fails with the last reason, not with the lack of time", async () => {
  let attempts = 0;
  await using connections = new Connections({
    open() {
      attempts++;
      return attempts === 1 ? Promise.reject(new ConnectionLost("read-only")) : new Promise(() => {});
    },
    count: 1,
    statementMsMax: 1000,
  });
  await expect(connections.use(200, async () => {})).rejects.toThrow("read-only");
  expect(attempts).toBe(2);
});
