// What every store does with the audit trail, on each engine: its pages and filters, and that no change goes without an entry.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { AuditEntry, AuditFilter } from "../../src/access/audit.ts";
import type { Token } from "../../src/access/token.ts";
import type { TokenStore } from "../../src/access/tokens.ts";
import { CursorProblem } from "../../src/plants/plant-archive.ts";
import type { Store } from "../../src/storage/store.ts";
import { onEveryEngine } from "../support/engines.ts";
import { eventually } from "../support/eventually.ts";
import {
  auditEntry,
  openNewStore,
  openStoreAt,
  openTokensAt,
  testToken,
} from "../support/open-engine-store.ts";

onEveryEngine((engine) => {
  describe("the audit trail", () => {
    describe("with three entries", () => {
      const oldestFirst = [
        auditEntry("token.created", { actor: "os:me", subject: "ünïcode", detail: "a; b" }),
        auditEntry("console.signed-in", { address: "2001:db8::1" }),
        auditEntry("export.started", { atMs: 8 }),
      ];
      const newestFirst = oldestFirst.toReversed();
      let store: Store;
      beforeAll(async () => {
        store = await openNewStore(engine);
        for (const each of oldestFirst) await store.audit.record(each);
      });
      afterAll(() => store[Symbol.asyncDispose]());

      test("has every field of them, newest first, and continues on the next page", async () => {
        const page = await store.audit.page(3, undefined);
        expect(page).toEqual({ entries: newestFirst, next: undefined });
        const { entries, next } = await store.audit.page(2, undefined);
        expect(entries).toEqual(newestFirst.slice(0, 2));
        expect(await store.audit.page(2, next)).toEqual({ entries: newestFirst.slice(2), next: undefined });
      });

      test("is filtered by action, actor and time, on the next page too", async () => {
        const filters: [filter: AuditFilter, positions: number[]][] = [
          [{ action: "console.signed-in" }, [1]],
          [{ actor: "os:me" }, [2]],
          // The first time is included, the last is not.
          [{ sinceMs: 8 }, [0]],
          [{ untilMs: 8 }, [1, 2]],
          [{ action: "export.started", actor: "os:me" }, []],
        ];
        for (const [filter, positions] of filters) {
          const { entries } = await store.audit.page(3, undefined, filter);
          expect(entries).toEqual(positions.map((position) => newestFirst[position] as AuditEntry));
        }
        const filter = { untilMs: 8 };
        const { next } = await store.audit.page(1, undefined, filter);
        const rest = await store.audit.page(1, next, filter);
        expect(rest).toEqual({ entries: newestFirst.slice(2), next: undefined });
      });

      test("refuses a cursor that no page returned", async () => {
        for (const cursor of ["x", "", "9".repeat(40), "' OR 1=1"])
          await expect(store.audit.page(2, cursor)).rejects.toThrow(CursorProblem);
      });
    });

    describe("that refuses entries", () => {
      const old = testToken("old");
      const revoked = { ...old, revokedAtMs: 9 };

      test.each<[change: string, stored: Token[], make: (tokens: TokenStore) => Promise<void>]>([
        ["a new token", [old], (tokens) => tokens.add(testToken("new"), auditEntry("token.created"))],
        [
          "a rotated token",
          [old],
          (tokens) => tokens.addReplacement(testToken("new"), auditEntry("token.rotated"), [revoked]),
        ],
        ["a revoked token", [old], (tokens) => tokens.change([revoked], auditEntry("token.revoked"))],
        ["the first token", [], (tokens) => tokens.addFirst(testToken("new"), auditEntry("token.created"))],
      ])("keeps %s from being stored without its entry", async (_, stored, make) => {
        const database = await engine.newDatabase();
        await using opened = await openTokensAt(database, { mayCreate: true });
        for (const each of stored) await opened.tokens.add(each, auditEntry("token.created"));
        const rows = () =>
          Promise.all([
            engine.run(database, "SELECT * FROM tokens"),
            engine.run(database, "SELECT action, subject FROM audit_trail"),
          ]);
        const before = await rows();
        // Only now: a data file with a trigger is refused when it is opened.
        const refusal = await engine.refuseAuditEntries(database);
        await expect(make(opened.tokens)).rejects.toThrow(refusal);
        expect(await rows()).toEqual(before);
      });
    });

    describe("that is full keeps", () => {
      const others = "NOT LIKE 'token.%'";
      const tokenChanges = "LIKE 'token.%'";

      async function stored(database: string, condition: string) {
        const sql = `SELECT count(*) AS count, min(at_ms) AS oldest FROM audit_trail WHERE action ${condition}`;
        const [row] = await engine.run(database, sql);
        return { count: Number(row?.["count"]), oldestMs: Number(row?.["oldest"]) };
      }

      test("every change of a token, and the newest 100,000 of the other entries", async () => {
        const database = await engine.newDatabase();
        await (await openStoreAt(database))[Symbol.asyncDispose]();
        await engine.fillAuditTrail(database);
        let newestMs = 100_015;
        // On a busy machine PostgreSQL may not remove them in time. Then the next process does, at its first entry.
        await eventually(async () => {
          await using store = await openStoreAt(database);
          newestMs += 1;
          await store.audit.record(auditEntry("console.signed-in", { atMs: newestMs }));
          return (await stored(database, others)).count === 100_000;
        }, "the oldest to be removed");
        expect(await stored(database, tokenChanges)).toEqual({ count: 5, oldestMs: 1 });
        expect(await stored(database, others)).toEqual({ count: 100_000, oldestMs: newestMs - 99_999 });
      });
    });
  });
});
