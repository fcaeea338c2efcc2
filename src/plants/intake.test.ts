import { describe, expect, test } from "bun:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { stoppedClock } from "../../test/support/clock.ts";
import { eventually } from "../../test/support/eventually.ts";
import { Intake, type PendingPlant, type Rejected } from "./intake.ts";
import {
  type Outcome,
  OutcomeUnknown,
  type PlantStore,
  type PlantToStore,
  StoreUnavailable,
} from "./plant-store.ts";

const created: Outcome = { kind: "created" };

/** A store whose next batch ends as the test chooses, since a disk does not fail on demand. */
class CuedStore implements PlantStore {
  batchesInFlightMax = 1;
  canBecomeUnreachable = false;
  isStalled = false;
  readonly batches: number[] = [];
  next: () => Promise<void> = async () => {};

  async create(batch: readonly PlantToStore[]): Promise<Outcome[]> {
    this.batches.push(batch.length);
    await this.next();
    return batch.map(() => created);
  }

  probe = (): Promise<void> => this.next();
}

function pending(id: number, settle: PendingPlant["settle"]): PendingPlant {
  return { plant: { id: BigInt(id), name: "a", tag: undefined }, createdBy: "test", settle };
}

function setUp(pendingMax = 100, batchesInFlightMax = 1) {
  const store = new CuedStore();
  store.batchesInFlightMax = batchesInFlightMax;
  const heard: string[] = [];
  const intake = new Intake(store, pendingMax, {
    stored() {},
    storeUnavailable: () => heard.push("unavailable"),
    storeAvailable: () => heard.push("available"),
    settleFailed: (error) => heard.push(String(error)),
  });
  void intake.storeFailed.then(() => heard.push("outcome-unknown"));
  const create = (id: number): Promise<Outcome | Rejected> =>
    new Promise((settle) => intake.create(pending(id, settle)));
  return { store, heard, intake, create };
}

describe("the intake", () => {
  test("starts to write a full batch before the turn ends", async () => {
    const { store, create } = setUp(5000);
    const writing = Promise.withResolvers<void>();
    store.next = () => writing.promise;
    const all = Array.from({ length: 2500 }, (_, id) => create(id));
    expect(store.batches).toEqual([1000]);
    await nextTurn();
    expect(store.batches).toEqual([1000]);
    writing.resolve();
    await Promise.all(all);
    expect(store.batches).toEqual([1000, 1000, 500]);
  });

  test("starts to write a batch before the turn ends if there is no room for more", async () => {
    // For three plants, of which one is in flight.
    const { store, create } = setUp(3, 2);
    store.next = () => new Promise(() => {});
    void create(1);
    await nextTurn();
    void create(2);
    expect(store.batches).toEqual([1]);
    void create(3);
    expect(store.batches).toEqual([1, 2]);
  });

  test("writes all plants of one turn as one batch, at its end", async () => {
    const { store, create } = setUp();
    const all = [create(1), create(2)];
    expect(store.batches).toEqual([]);
    expect(await Promise.all(all)).toEqual([created, created]);
    expect(store.batches).toEqual([2]);
  });

  test("rejects a plant that it has no room for, and has room as soon as another is answered", async () => {
    const { intake, create } = setUp(1);
    const createNext = (settle: (outcome: Outcome | Rejected) => void) => intake.create(pending(2, settle));
    const next = new Promise((settle) => intake.create(pending(1, () => createNext(settle))));
    expect(await create(3)).toEqual({ kind: "too-busy" });
    expect(await next).toEqual(created);
  });

  test("gives the store its next batch before it answers the last one", async () => {
    const { store, create } = setUp();
    const gate = Promise.withResolvers<void>();
    const events: string[] = [];
    store.next = () => {
      events.push("stores");
      return gate.promise;
    };
    const first = create(1).then(() => events.push("answers"));
    await eventually(() => events.length === 1, "the store to have the first batch");
    const second = create(2);
    gate.resolve();
    await Promise.all([first, second]);
    expect(events).toEqual(["stores", "stores", "answers"]);
  });

  describe("after a batch that the store could not write", () => {
    /** An intake whose first plant was not stored; the store cannot write yet. */
    async function unavailable() {
      const parts = setUp();
      parts.store.next = () => Promise.reject(new StoreUnavailable("full"));
      expect(await parts.create(1)).toEqual({ kind: "store-unavailable" });
      return parts;
    }

    // Without the probe, only traffic would find that the store has recovered.
    test("is not ready until a probe finds that the store has recovered", async () => {
      using clock = stoppedClock(10_000);
      const { store, intake } = await unavailable();
      expect(await intake.canStore()).toBe(false);
      store.next = async () => {};
      clock.nowMs = 10_500;
      expect(await intake.canStore()).toBe(true);
    });

    test("is ready again after the next batch, and has reported the outage and its end", async () => {
      const { store, heard, intake, create } = await unavailable();
      // After this probe, only a write makes it ready for half a second.
      await intake.canStore();
      store.next = async () => {};
      expect(await create(1)).toEqual(created);
      expect(await intake.canStore()).toBe(true);
      expect(heard).toEqual(["unavailable", "available"]);
    });
  });

  // Nothing says that the others are durable.
  test.each([0, 1])("rejects the rest of a batch for which the store returns %d outcomes", async (count) => {
    const { store, intake, create } = setUp();
    store.create = async () => Array(count).fill(created);
    const outcomes = await Promise.all([create(1), create(2)]);
    expect(outcomes.slice(0, count)).toEqual(Array(count).fill(created));
    expect(outcomes.slice(count)).toEqual(Array(2 - count).fill({ kind: "store-unavailable" }));
    expect(intake.pending).toBe(0);
  });

  test("after any other error of the store, rejects the plants that it has and all later ones", async () => {
    const { store, heard, intake, create } = setUp();
    const writing = Promise.withResolvers<void>();
    store.next = () => writing.promise;
    const begun = create(1);
    await nextTurn();
    const waiting = create(2);
    writing.reject(new Error("unexpected"));
    const unavailable = { kind: "store-unavailable" } as const;
    expect(await begun).toEqual(unavailable);
    expect(await waiting).toEqual(unavailable);
    expect(heard).toEqual(["outcome-unknown"]);

    store.next = async () => {};
    const settled: unknown[] = [];
    intake.create(pending(3, (outcome) => settled.push(outcome)));
    expect(settled).toEqual([unavailable]);
    await nextTurn();
    expect(store.batches).toEqual([1]);
    expect(await intake.canStore()).toBe(false);
  });

  test("ends both waits if it is closed twice", async () => {
    const { store, intake, create } = setUp();
    const stored = Promise.withResolvers<void>();
    store.next = () => stored.promise;
    const inFlight = create(1);
    await nextTurn();
    const closes = [intake.close(), intake.close()];
    stored.resolve();
    await Promise.all(closes);
    expect(await inFlight).toEqual(created);
    expect(intake.pending).toBe(0);
  });

  test("rejects plants for the failure of the store even once it is closed", async () => {
    const { intake, create } = setUp();
    intake.handleStoreError(new OutcomeUnknown("fsync failed"));
    await intake.close();
    expect((await intake.storeFailed).message).toBe("fsync failed");
    expect(intake.storeFailure?.message).toBe("fsync failed");
    expect(await create(1)).toEqual({ kind: "store-unavailable" });
  });

  test("is not ready while the disk keeps a committed batch waiting", async () => {
    const { store, intake } = setUp();
    store.isStalled = true;
    expect(await intake.canStore()).toBe(false);
    store.isStalled = false;
    expect(await intake.canStore()).toBe(true);
  });

  describe("with a store that can become unreachable", () => {
    /** An intake whose store is unreachable after its first plant, and how often it was probed. */
    async function lostAfterOne() {
      const { store, heard, intake, create } = setUp();
      store.canBecomeUnreachable = true;
      expect(await create(1)).toEqual(created);
      const probes = { count: 0 };
      store.next = () => {
        probes.count++;
        return Promise.reject(new StoreUnavailable("gone"));
      };
      return { heard, intake, probes };
    }

    test("is ready without a probe for half a second after a write", async () => {
      using clock = stoppedClock(10_000);
      const { intake, probes, heard } = await lostAfterOne();
      clock.nowMs = 10_499;
      expect(await intake.canStore()).toBe(true);
      expect(probes.count).toBe(0);
      clock.nowMs = 10_500;
      expect(await intake.canStore()).toBe(false);
      expect(heard).toEqual(["unavailable"]);
    });

    test("probes it at most twice per second, whoever asks meanwhile", async () => {
      using clock = stoppedClock(10_000);
      const { intake, probes } = await lostAfterOne();
      clock.nowMs = 10_500;
      expect(await Promise.all([intake.canStore(), intake.canStore()])).toEqual([false, false]);
      expect(probes.count).toBe(1);
      for (clock.nowMs = 10_600; clock.nowMs < 12_500; clock.nowMs += 100) await intake.canStore();
      expect(probes.count).toBe(4);
    });
  });

  test("reports a callback that throws, and settles the others of its batch and the next plants", async () => {
    const { heard, intake, create } = setUp();
    const before = create(1);
    const throwing = () => {
      throw new Error("callback");
    };
    intake.create(pending(2, throwing));
    expect(await Promise.all([before, create(3)])).toEqual([created, created]);
    expect(heard).toEqual(["Error: callback"]);
    expect(intake.pending).toBe(0);
    expect(await create(4)).toEqual(created);
  });

  test("waits, when it is closed, until the current batch is answered, and rejects all other plants", async () => {
    const { store, intake, create } = setUp();
    const writing = Promise.withResolvers<void>();
    store.next = () => writing.promise;
    const events: string[] = [];
    const begun = create(1);
    await nextTurn();
    const waiting = create(2);
    const closed = intake.close();
    const both = [begun.then(() => events.push("answered")), closed.then(() => events.push("closed"))];
    expect(await waiting).toEqual({ kind: "closing" });
    expect(await create(3)).toEqual({ kind: "closing" });
    await nextTurn();
    expect(events).toEqual([]);
    writing.resolve();
    await Promise.all(both);
    expect(await begun).toEqual(created);
    expect(events).toEqual(["answered", "closed"]);
    expect(await create(4)).toEqual({ kind: "closing" });
  });

  test("rejects plants for the reason that it closes even if it is full", async () => {
    const { intake, create } = setUp(1);
    const first = create(1);
    const closed = intake.close();
    expect(await create(2)).toEqual({ kind: "closing" });
    await Promise.all([first, closed]);
  });
});
