import { expect, test } from "bun:test";
import { stoppedClock } from "../../test/support/clock.ts";
import { fake } from "../../test/support/fake.ts";
import type { AuditEntry, AuditTrail } from "../access/audit.ts";
import type { Caller } from "../access/gate.ts";
import type { Exchange } from "../http/exchange.ts";
import { dayMs } from "../text/duration.ts";
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

test("a caller may do 60 recorded actions at once", async () => {
  using recording = recorder();
  for (let count = 0; count < 60; count++) await recording.record("reader");
  expect(recording.entries).toHaveLength(60);
});

test("one recorded action more is refused", async () => {
  using recording = recorder();
  for (let count = 0; count < 60; count++) await recording.record("reader");
  await expect(recording.record("reader")).rejects.toMatchObject({
    kind: "over-rate",
    message:
      "This token has reached its limit of 60 actions per minute that the audit trail records, such as sign-ins, exports and imports. Try again in 1 s.",
    headers: { "Retry-After": "1" },
  });
  expect(recording.entries).toHaveLength(60);
});

test("after the limit, a caller may do the next recorded action a second later", async () => {
  using recording = recorder();
  for (let count = 0; count < 60; count++) await recording.record("reader");
  recording.clock.nowMs = 1000;
  await recording.record("reader");
  expect(recording.entries).toHaveLength(61);
});

test("the actions of one caller do not limit another", async () => {
  using recording = recorder();
  for (let count = 0; count < 60; count++) await recording.record("reader");
  await recording.record("other");
  expect(recording.entries.at(-1)).toMatchObject({ actor: "other" });
});

test("in a day, one caller cannot remove an entry from the audit trail", async () => {
  using recording = recorder();
  for (; recording.clock.nowMs < dayMs; recording.clock.nowMs += 500)
    await recording.record("reader").catch(() => {});
  expect(recording.entries.length).toBeGreaterThan(dayMs / 1000);
  expect(recording.entries.length).toBeLessThan(keptEntries);
});
