import { expect, test } from "bun:test";
import { stoppedClock } from "../../test/support/clock.ts";
import { fake } from "../../test/support/fake.ts";
import type { AuditEntry, AuditTrail } from "../access/audit.ts";
import type { Caller } from "../access/scopes.ts";
import type { Exchange } from "../http/exchange.ts";
import { hourMs } from "../text/duration.ts";
import { ActionRecorder } from "./action-recorder.ts";

// As `src/storage/audit-rows.ts` has it.
const keptEntries = 100_000;

/** A recorder, the entries that it wrote, and a clock that stands still until it is set. */
function recorder() {
  const entries: AuditEntry[] = [];
  const trail = fake<AuditTrail>({ record: async (entry) => void entries.push(entry) });
  const actions = new ActionRecorder(trail);
  const clock = stoppedClock();
  const record = (name: string): Promise<void> => {
    const caller: Caller = { name, scopes: ["operator:read"], expiresAtMs: undefined };
    const exchange = fake<Exchange>({ address: "127.0.0.1" });
    return actions.record(exchange, caller, "console.signed-in", "console");
  };
  return { entries, clock, record, [Symbol.dispose]: () => clock[Symbol.dispose]() };
}

test("a caller may do 60 recorded actions at once, and the next a second later, whatever others do", async () => {
  using recording = recorder();
  for (let count = 0; count < 60; count++) await recording.record("reader");
  await expect(recording.record("reader")).rejects.toMatchObject({
    kind: "over-rate",
    message:
      "This token has reached its limit of 60 actions per minute that the audit trail records, such as sign-ins, exports, imports and new tokens. Try again in 1 s.",
    headers: { "Retry-After": "1" },
  });
  expect(recording.entries).toHaveLength(60);
  await recording.record("other");
  expect(recording.entries.at(-1)).toMatchObject({ actor: "other" });
  recording.clock.nowMs = 1000;
  await recording.record("reader");
  expect(recording.entries).toHaveLength(62);
});

test("one caller cannot remove an entry from the audit trail within a day", async () => {
  using recording = recorder();
  for (; recording.clock.nowMs < hourMs; recording.clock.nowMs += 500)
    await recording.record("reader").catch(() => {});
  expect(recording.entries.length).toBeGreaterThan(hourMs / 1000);
  expect(24 * recording.entries.length).toBeLessThan(keptEntries);
});
