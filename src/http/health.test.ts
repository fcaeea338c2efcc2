import { expect, test } from "bun:test";
import { Gate } from "../access/gate.ts";
import { Intake, type IntakeEvents } from "../plants/intake.ts";
import type { PlantStore } from "../plants/plant-store.ts";
import { Readiness } from "./health.ts";

const reachableStore: PlantStore = {
  batchesInFlightMax: 1,
  canBecomeUnreachable: true,
  isStalled: false,
  create: async (batch) => batch.map(() => ({ kind: "created" })),
  probe: async () => {},
};

const noEvents: IntakeEvents = {
  stored() {},
  storeUnavailable() {},
  storeAvailable() {},
  settleFailed() {},
};

test("a service is not ready before it has read the tokens of its store", async () => {
  const gate = new Gate([]);
  const readiness = new Readiness(gate, new Intake(reachableStore, 1, noEvents));
  expect(await readiness.check()).toBe("store-unavailable");
  gate.update([]);
  expect(await readiness.check()).toBe("ready");
});
