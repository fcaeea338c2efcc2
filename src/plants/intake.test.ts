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

  test("writes all plants of one turn as one batch", async () => {
    const { store, create } = setUp();
    const all = [create(1), create(2)];
    expect(store.batches).toEqual([]);
    expect(await Promise.all(all)).toEqual([created, created]);
    expect(store.batches).toEqual([2]);
  });

  test("writes a batch at once when it is flushed", async () => {
    const { store, intake, create } = setUp();
    const all = [create(1), create(2)];
    expect(store.batches).toEqual([]);
    intake.flush();
    expect(store.batches).toEqual([2]);
    expect(await Promise.all(all)).toEqual([created, created]);
  });

  test("rejects a plant that it has no room for", async () => {
    const { create } = setUp(1);
    const first = create(1);
    expect(await create(2)).toEqual({ kind: "too-busy" });
    expect(await first).toEqual(created);
  });

  test("has room as soon as another plant is answered", async () => {
    const { intake } = setUp(1);
    const createNext = (settle: (outcome: Outcome | Rejected) => void) => intake.create(pending(2, settle));
    const next = new Promise((settle) => intake.create(pending(1, () => createNext(settle))));
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
      const outcome = await parts.create(1);
      return { ...parts, outcome };
    }

    test("rejects its plants", async () => {
      const { outcome } = await unavailable();
      expect(outcome).toEqual({ kind: "store-unavailable" });
    });

    test("is not ready", async () => {
      const { intake } = await unavailable();
      expect(await intake.canStore()).toBe(false);
    });

    // Without this, only traffic would find that the store has recovered.
    test("is ready again after a probe", async () => {
      const { store, intake } = await unavailable();
      store.next = async () => {};
      expect(await intake.canStore()).toBe(true);
    });

    test("is ready again after the next batch", async () => {
      const { store, intake, create } = await unavailable();
      // After this probe, only a write makes it ready for half a second.
      await intake.canStore();
      store.next = async () => {};
      expect(await create(1)).toEqual(created);
      expect(await intake.canStore()).toBe(true);
    });

    test("reports the outage and its end", async () => {
      const { store, heard, create } = await unavailable();
      store.next = async () => {};
      await create(1);
      expect(heard).toEqual(["unavailable", "available"]);
    });
  });

  // Nothing says that it is durable.
  test("rejects a plant for which the store returns no outcome", async () => {
    const { store, intake, create } = setUp();
    store.create = async () => [];
    expect(await create(1)).toEqual({ kind: "store-unavailable" });
    expect(intake.pending).toBe(0);
  });

  test("rejects the rest of a batch for which the store returns too few outcomes", async () => {
    const { store, intake, create } = setUp();
    store.create = async () => [created];
    const first = create(1);
    const second = create(2);
    expect(await first).toEqual(created);
    expect(await second).toEqual({ kind: "store-unavailable" });
    expect(intake.pending).toBe(0);
  });

  describe("after any other error of the store", () => {
    /** An intake whose store has failed with one plant, while another waited. */
    async function failed() {
      const { store, heard, intake, create } = setUp();
      const writing = Promise.withResolvers<void>();
      store.next = () => writing.promise;
      const begun = create(1);
      await nextTurn();
      const waiting = create(2);
      writing.reject(new Error("unexpected"));
      const outcomes = { begun: await begun, waiting: await waiting };
      store.next = async () => {};
      return { store, heard, intake, outcomes };
    }

    test("rejects the plants that it has", async () => {
      const { outcomes } = await failed();
      expect(outcomes.begun).toEqual({ kind: "store-unavailable" });
      expect(outcomes.waiting).toEqual({ kind: "store-unavailable" });
    });

    test("rejects later plants immediately", async () => {
      const { intake } = await failed();
      const settled: unknown[] = [];
      intake.create(pending(3, (outcome) => settled.push(outcome)));
      expect(settled).toEqual([{ kind: "store-unavailable" }]);
    });

    test("stores nothing", async () => {
      const { store, intake } = await failed();
      intake.create(pending(3, () => {}));
      await nextTurn();
      expect(store.batches).toEqual([1]);
    });

    test("is not ready", async () => {
      const { intake } = await failed();
      expect(await intake.canStore()).toBe(false);
    });

    test("reports that the outcome is unknown", async () => {
      const { heard } = await failed();
      expect(heard).toEqual(["outcome-unknown"]);
    });
  });

  test("ends both waits if it is closed twice", async () => {
    const { store, intake, create } = setUp();
    const stored = Promise.withResolvers<void>();
    store.next = () => stored.promise;
    const inFlight = create(1);
    intake.flush();
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
      const { intake, probes } = await lostAfterOne();
      clock.nowMs = 10_499;
      expect(await intake.canStore()).toBe(true);
      expect(probes.count).toBe(0);
    });

    test("is not ready after a probe that fails", async () => {
      using clock = stoppedClock(10_000);
      const { intake, heard } = await lostAfterOne();
      clock.nowMs = 10_500;
      expect(await intake.canStore()).toBe(false);
      expect(heard).toEqual(["unavailable"]);
    });

    test("probes it at most twice per second", async () => {
      using clock = stoppedClock(10_000);
      const { intake, probes } = await lostAfterOne();
      for (clock.nowMs = 10_500; clock.nowMs < 12_500; clock.nowMs += 100) await intake.canStore();
      expect(probes.count).toBe(4);
    });

    test("answers several questions by one probe", async () => {
      using clock = stoppedClock(10_000);
      const { intake, probes } = await lostAfterOne();
      clock.nowMs = 10_500;
      expect(await Promise.all([intake.canStore(), intake.canStore()])).toEqual([false, false]);
      expect(probes.count).toBe(1);
    });
  });

  describe("with a callback that throws", () => {
    /** A batch of three plants, the callback of the second of which throws. */
    async function createWithThrowing() {
      const parts = setUp();
      const before = parts.create(1);
      const throwing = () => {
        throw new Error("callback");
      };
      parts.intake.create(pending(2, throwing));
      const others = await Promise.all([before, parts.create(3)]);
      return { ...parts, others };
    }

    test("reports it", async () => {
      const { heard } = await createWithThrowing();
      expect(heard).toEqual(["Error: callback"]);
    });

    test("settles the others of its batch", async () => {
      const { others, intake } = await createWithThrowing();
      expect(others).toEqual([created, created]);
      expect(intake.pending).toBe(0);
    });

    test("stores the next plant", async () => {
      const { create } = await createWithThrowing();
      expect(await create(4)).toEqual(created);
    });
  });

  describe("while it closes", () => {
    /** An intake that is closed while the store writes one plant and another waits. */
    async function closing() {
      const { store, intake, create } = setUp();
      const writing = Promise.withResolvers<void>();
      store.next = () => writing.promise;
      const begun = create(1);
      await nextTurn();
      const waiting = create(2);
      return { writing, create, begun, waiting, closed: intake.close() };
    }

    test("waits until the current batch is answered", async () => {
      const { writing, begun, closed } = await closing();
      const events: string[] = [];
      const both = [begun.then(() => events.push("answered")), closed.then(() => events.push("closed"))];
      await nextTurn();
      expect(events).toEqual([]);
      writing.resolve();
      await Promise.all(both);
      expect(await begun).toEqual(created);
      expect(events).toEqual(["answered", "closed"]);
    });

    test("rejects what is still queued", async () => {
      const { writing, waiting, closed } = await closing();
      expect(await waiting).toEqual({ kind: "closing" });
      writing.resolve();
      await closed;
    });

    test("rejects later plants", async () => {
      const { writing, create, closed } = await closing();
      expect(await create(3)).toEqual({ kind: "closing" });
      writing.resolve();
      await closed;
    });

    test("rejects plants for that reason even if it is full", async () => {
      const { intake, create } = setUp(1);
      const first = create(1);
      const closed = intake.close();
      expect(await create(2)).toEqual({ kind: "closing" });
      await Promise.all([first, closed]);
    });
  });

  test("rejects plants once it is closed", async () => {
    const { intake, create } = setUp();
    await intake.close();
    expect(await create(1)).toEqual({ kind: "closing" });
  });
});
