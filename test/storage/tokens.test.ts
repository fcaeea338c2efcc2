// What every store does with tokens, on each engine: how they are added, changed, rotated and named, even by several processes.
import { describe, expect, test } from "bun:test";
import { createToken, type Token, TokenProblem } from "../../src/access/tokens.ts";
import type { Store } from "../../src/storage/store.ts";
import { type Engine, onEveryEngine } from "../support/engines.ts";
import {
  auditEntry,
  openNewStore,
  openStoreAt,
  openTokensAt,
  testToken,
} from "../support/open-engine-store.ts";

onEveryEngine((engine) => {
  describe("tokens", () => {
    test("are listed with every field, oldest first", async () => {
      await using store = await openNewStore(engine);
      const newer = testToken("aaa", { createdAtMs: 9 });
      const older = testToken("bbb", { expiresAtMs: 2 ** 45 });
      await store.tokens.add(newer, auditEntry("token.created"));
      await store.tokens.add(older, auditEntry("token.created"));
      expect(await store.tokens.all()).toEqual([older, newer]);
    });

    test("are updated together with the one that replaces them", async () => {
      await using store = await openNewStore(engine);
      const old = testToken("aaa");
      const replacement = testToken("bbb", { createdAtMs: 10 });
      await store.tokens.add(old, auditEntry("token.created"));
      await store.tokens.addReplacement(replacement, auditEntry("token.rotated"), [
        { ...old, expiresAtMs: 77 },
      ]);
      expect(await store.tokens.all()).toEqual([{ ...old, expiresAtMs: 77 }, replacement]);
    });

    test("change without a change of others", async () => {
      await using store = await openNewStore(engine);
      const revoked = testToken("aaa");
      const other = testToken("bbb", { createdAtMs: 10 });
      await store.tokens.add(revoked, auditEntry("token.created"));
      await store.tokens.add(other, auditEntry("token.created"));
      await store.tokens.change([{ ...revoked, revokedAtMs: 88 }], auditEntry("token.revoked"));
      expect(await store.tokens.all()).toEqual([{ ...revoked, revokedAtMs: 88 }, other]);
    });

    test.each<[what: string, changes: Partial<Token>[], kept: Partial<Token>]>([
      ["first revocation", [{ revokedAtMs: 60 }, { revokedAtMs: 70 }, {}], { revokedAtMs: 60 }],
      [
        "earliest expiry",
        [{ expiresAtMs: 90 }, { expiresAtMs: 80 }, { expiresAtMs: 85 }, {}],
        { expiresAtMs: 80 },
      ],
    ])("keep their %s", async (_, changes, kept) => {
      await using store = await openNewStore(engine);
      const added = testToken("aaa");
      await store.tokens.add(added, auditEntry("token.created"));
      for (const change of changes)
        await store.tokens.change([{ ...added, ...change }], auditEntry("token.revoked"));
      expect(await store.tokens.all()).toEqual([{ ...added, ...kept }]);
    });

    // Each was created at 5, and is to be replaced at 10.
    test.each([
      ["revoked", testToken("aaa", { revokedAtMs: 9 })],
      ["expired", testToken("aaa", { expiresAtMs: 10 })],
      ["not stored", undefined],
    ])("that are %s are not rotated, nor are others with them", async (_, ended) => {
      await using store = await openNewStore(engine);
      const live = testToken("bbb", { createdAtMs: 6, expiresAtMs: 11 });
      const stored = ended === undefined ? [live] : [ended, live];
      for (const each of stored) await store.tokens.add(each, auditEntry("token.created"));
      const replacement = testToken("ccc", { createdAtMs: 10 });
      const replaced = [
        { ...live, expiresAtMs: 10 },
        { ...(ended ?? testToken("not stored")), expiresAtMs: 9, revokedAtMs: undefined },
      ];
      const rotating = store.tokens.addReplacement(replacement, auditEntry("token.rotated"), replaced);
      await expect(rotating).rejects.toThrow(TokenProblem);
      expect(await store.tokens.all()).toEqual(stored);
      expect((await store.audit.page(10, undefined)).entries).toHaveLength(stored.length);
    });

    test("that have not expired yet are rotated", async () => {
      await using store = await openNewStore(engine);
      const live = testToken("aaa", { expiresAtMs: 11 });
      const replacement = testToken("bbb", { createdAtMs: 10 });
      await store.tokens.add(live, auditEntry("token.created"));
      await store.tokens.addReplacement(replacement, auditEntry("token.rotated"), [live]);
      expect(await store.tokens.all()).toEqual([live, replacement]);
    });

    test("that another process creates or revokes have another version", async () => {
      const database = await engine.newDatabase();
      await using store = await openStoreAt(database);
      await using other = await openTokensAt(database, { mayCreate: false });
      const empty = await store.tokens.version();
      expect(await store.tokens.version()).toBe(empty);

      await other.tokens.add(testToken("aaa"), auditEntry("token.created"));
      // Another reader must not consume the change for the one that watches.
      await store.tokens.all();
      const created = await store.tokens.version();
      expect(created).not.toBe(empty);

      await other.tokens.change([testToken("aaa", { revokedAtMs: 1 })], auditEntry("token.revoked"));
      expect(await store.tokens.version()).not.toBe(created);
    });

    describe("that are used", () => {
      /** A store with a token, whose uses were recorded out of order together with those of one that is not stored. */
      async function useTokens() {
        const store = await openNewStore(engine);
        await store.tokens.add(testToken("aaa"), auditEntry("token.created"));
        const unusedVersion = await store.tokens.version();
        for (const atMs of [70, 90, 80])
          await store.tokens.recordUses([
            { digest: "aaa", atMs },
            { digest: "not stored", atMs },
          ]);
        return { ...store, unusedVersion, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
      }

      test("keep the latest time of their use", async () => {
        await using store = await useTokens();
        expect(await store.tokens.all()).toEqual([testToken("aaa", { lastUsedAtMs: 90 })]);
      });

      test("keep their version, so that no process reloads them", async () => {
        await using store = await useTokens();
        expect(await store.tokens.version()).toBe(store.unusedVersion);
      });

      test("add nothing to the audit trail", async () => {
        await using store = await useTokens();
        expect((await store.audit.page(10, undefined)).entries).toHaveLength(1);
      });
    });

    test("of a name that a live one has are not added", async () => {
      await using store = await openNewStore(engine);
      const live = testToken("aaa", { expiresAtMs: 11 });
      await store.tokens.add(live, auditEntry("token.created"));
      const second = testToken("bbb", { name: live.name, createdAtMs: 10 });
      const adding = store.tokens.add(second, auditEntry("token.created"));
      await expect(adding).rejects.toThrow(TokenProblem);
      expect(await store.tokens.all()).toEqual([live]);
      expect((await store.audit.page(10, undefined)).entries).toHaveLength(1);
    });

    test.each([
      ["expired", { expiresAtMs: 10 }],
      ["revoked", { revokedAtMs: 9 }],
    ])("of a name that one had that is %s are added", async (_, end) => {
      await using store = await openNewStore(engine);
      const ended = testToken("aaa");
      await store.tokens.add(ended, auditEntry("token.created"));
      await store.tokens.change([{ ...ended, ...end }], auditEntry("token.revoked"));
      const second = testToken("bbb", { name: ended.name, createdAtMs: 10 });
      await store.tokens.add(second, auditEntry("token.created"));
      expect(await store.tokens.all()).toEqual([{ ...ended, ...end }, second]);
    });

    test("of a name that a live one has are added as copies of another store", async () => {
      await using store = await openNewStore(engine);
      const live = testToken("aaa");
      await store.tokens.add(live, auditEntry("token.created"));
      const copy = testToken("bbb", { name: live.name, createdAtMs: 10 });
      await store.tokens.addCopy(copy, auditEntry("token.copied"));
      expect(await store.tokens.all()).toEqual([live, copy]);
    });

    test("of one name are created by only one of several processes", async () => {
      await using opened = await openInProcesses(engine);
      const { store, processes } = opened;
      // Several names, since by chance the processes might create one of them one after the other.
      const names = ["a", "b", "c", "d", "e"];
      const by = { actor: "test", address: undefined };
      const wanted = { scopes: ["plants:create"], lifetimeMs: undefined } as const;
      for (const name of names) {
        const creating = processes.map(({ tokens }) => createToken(tokens, { name, ...wanted }, by, 5));
        const settled = await Promise.allSettled(creating);
        const refusals = settled.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
        expect(refusals).toHaveLength(processes.length - 1);
        for (const refusal of refusals) expect(refusal).toBeInstanceOf(TokenProblem);
      }
      expect((await store.tokens.all()).map(({ name }) => name).sort()).toEqual(names);
      expect((await store.audit.page(20, undefined)).entries).toHaveLength(names.length);
    });

    test("are added as the first by only one of several processes", async () => {
      await using opened = await openInProcesses(engine);
      const { store, processes } = opened;
      await Promise.all(
        processes.map(({ tokens }, index) =>
          tokens.addFirst(testToken(`digest ${index}`), auditEntry("token.created")),
        ),
      );
      expect(await store.tokens.all()).toHaveLength(1);
      expect((await store.audit.page(10, undefined)).entries).toHaveLength(1);
    });

    test("are not added as the first if there is one", async () => {
      await using store = await openNewStore(engine);
      await store.tokens.add(testToken("aaa"), auditEntry("token.created"));
      await store.tokens.addFirst(testToken("bbb"), auditEntry("token.created"));
      expect(await store.tokens.all()).toEqual([testToken("aaa")]);
      expect((await store.audit.page(10, undefined)).entries).toHaveLength(1);
    });
  });
});

/** A new store as a service has it open, and its tokens as that service and four commands have them. */
async function openInProcesses(engine: Engine) {
  const database = await engine.newDatabase();
  await using owned = new AsyncDisposableStack();
  const store = owned.use(await openStoreAt(database));
  const processes: Pick<Store, "tokens">[] = [store];
  for (let command = 0; command < 4; command++)
    processes.push(owned.use(await openTokensAt(database, { mayCreate: false })));
  const moved = owned.move();
  return { store, processes, [Symbol.asyncDispose]: () => moved.disposeAsync() };
}
