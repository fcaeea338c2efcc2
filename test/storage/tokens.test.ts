// What every store does with tokens, on each engine: how they are added, changed, rotated and named, even by several processes.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import type { Token } from "../../src/access/token.ts";
import { createToken, TokenProblem, type TokenStore } from "../../src/access/tokens.ts";
import { StoreUnavailable } from "../../src/plants/plant-store.ts";
import type { Store } from "../../src/storage/store.ts";
import { onEveryEngine, onServer } from "../support/engines.ts";
import { auditEntry, openStoreAt, openTokensAt, testToken } from "../support/open-engine-store.ts";

onEveryEngine((engine) => {
  describe("tokens", () => {
    // One store for all of them, emptied before each test.
    let database: string;
    let store: Store;
    let tokens: TokenStore;
    beforeAll(async () => {
      database = await engine.newDatabase();
      store = await openStoreAt(database);
      tokens = store.tokens;
    });
    beforeEach(async () => {
      for (const table of ["tokens", "audit_trail"]) await engine.run(database, `DELETE FROM ${table}`);
    });
    afterAll(() => store[Symbol.asyncDispose]());

    const add = (token: Token) => tokens.add(token, auditEntry("token.created"));
    const change = (token: Token) => tokens.change([token], auditEntry("token.revoked"));
    const rotate = (replacement: Token, replaced: readonly Token[]) =>
      tokens.addReplacement(replacement, auditEntry("token.rotated"), replaced);
    const auditEntries = async () => (await store.audit.page(30, undefined)).entries;

    test("are listed with every field, oldest first", async () => {
      const newer = testToken("aaa", { createdAtMs: 9 });
      const older = testToken("bbb", { expiresAtMs: 2 ** 45 });
      await add(newer);
      await add(older);
      expect(await tokens.all()).toEqual([older, newer]);
    });

    test("that have not expired yet are updated together with the one that replaces them", async () => {
      const old = testToken("aaa", { expiresAtMs: 11 });
      const replacement = testToken("bbb", { createdAtMs: 10 });
      await add(old);
      await rotate(replacement, [{ ...old, expiresAtMs: 7 }]);
      expect(await tokens.all()).toEqual([{ ...old, expiresAtMs: 7 }, replacement]);
    });

    test("keep their first revocation and their earliest expiry, and change without a change of others", async () => {
      const added = testToken("aaa");
      const other = testToken("bbb", { createdAtMs: 10 });
      await add(added);
      await add(other);
      for (const changed of [{ revokedAtMs: 60, expiresAtMs: 90 }, { revokedAtMs: 70, expiresAtMs: 80 }, {}])
        await change({ ...added, ...changed });
      await change({ ...added, expiresAtMs: 85 });
      expect(await tokens.all()).toEqual([{ ...added, revokedAtMs: 60, expiresAtMs: 80 }, other]);
    });

    // Each was created at 5, and is to be replaced at 10.
    test.each([
      ["revoked", testToken("aaa", { revokedAtMs: 9 })],
      ["expired", testToken("aaa", { expiresAtMs: 10 })],
      ["not stored", undefined],
    ])("that are %s are not rotated, nor are others with them", async (_, ended) => {
      const live = testToken("bbb", { createdAtMs: 6, expiresAtMs: 11 });
      const stored = ended === undefined ? [live] : [ended, live];
      for (const each of stored) await add(each);
      const rotating = rotate(testToken("ccc", { createdAtMs: 10 }), [
        { ...live, expiresAtMs: 10 },
        { ...(ended ?? testToken("not stored")), expiresAtMs: 9, revokedAtMs: undefined },
      ]);
      await expect(rotating).rejects.toThrow(TokenProblem);
      expect(await tokens.all()).toEqual(stored);
      expect(await auditEntries()).toHaveLength(stored.length);
    });

    test("that another process creates or revokes have another version", async () => {
      await using other = await openTokensAt(database, { mayCreate: false });
      const empty = await tokens.version();
      expect(await tokens.version()).toBe(empty);

      await other.tokens.add(testToken("aaa"), auditEntry("token.created"));
      // Another reader must not consume the change for the one that watches.
      await tokens.all();
      const created = await tokens.version();
      expect(created).not.toBe(empty);

      await other.tokens.change([testToken("aaa", { revokedAtMs: 1 })], auditEntry("token.revoked"));
      expect(await tokens.version()).not.toBe(created);
    });

    test("that are used keep the latest time, their version, which nobody reloads, and the audit trail", async () => {
      await add(testToken("aaa"));
      const unusedVersion = await tokens.version();
      for (const atMs of [70, 90, 80])
        await tokens.recordUses([
          { digest: "aaa", atMs },
          { digest: "not stored", atMs },
        ]);
      expect(await tokens.version()).toBe(unusedVersion);
      expect(await tokens.all()).toEqual([testToken("aaa", { lastUsedAtMs: 90 })]);
      expect(await auditEntries()).toHaveLength(1);
    });

    test("of a name that a live one has are added only as copies of another store", async () => {
      const live = testToken("aaa", { expiresAtMs: 11 });
      const second = testToken("bbb", { name: live.name, createdAtMs: 10 });
      await add(live);
      await expect(add(second)).rejects.toThrow(TokenProblem);
      expect(await tokens.all()).toEqual([live]);
      expect(await auditEntries()).toHaveLength(1);
      await tokens.addCopy(second, auditEntry("token.copied"));
      expect(await tokens.all()).toEqual([live, second]);
    });

    test.each([
      ["expired", { expiresAtMs: 10 }],
      ["revoked", { revokedAtMs: 9 }],
    ])("of a name that one had that is %s are added", async (_, end) => {
      const ended = testToken("aaa");
      const second = testToken("bbb", { name: ended.name, createdAtMs: 10 });
      await add(ended);
      await change({ ...ended, ...end });
      await add(second);
      expect(await tokens.all()).toEqual([{ ...ended, ...end }, second]);
    });

    test("are not added as the first if there is one", async () => {
      await add(testToken("aaa"));
      await tokens.addFirst(testToken("bbb"), auditEntry("token.created"));
      expect(await tokens.all()).toEqual([testToken("aaa")]);
      expect(await auditEntries()).toHaveLength(1);
    });

    describe("of several processes", () => {
      test("are created by only one under one name", async () => {
        await using opened = await openInProcesses(store, database);
        const names = await createInProcesses(opened.processes);
        expect((await tokens.all()).map(({ name }) => name)).toEqual(names);
        expect(await auditEntries()).toHaveLength(names.length);
      });

      test("are added by only one as the first", async () => {
        await using opened = await openInProcesses(store, database);
        await Promise.all(
          opened.processes.map(({ tokens }, index) =>
            tokens.addFirst(testToken(`digest ${index}`), auditEntry("token.created")),
          ),
        );
        expect(await tokens.all()).toHaveLength(1);
        expect(await auditEntries()).toHaveLength(1);
      });
    });
  });
});

onServer((engine) => {
  // There a statement that waited for another process does not see what that one stored.
  test("tokens of one name are created by one process where a transaction has one snapshot", async () => {
    const database = await engine.newDatabase();
    const setting = "default_transaction_isolation = 'repeatable read'";
    await engine.run(database, `ALTER DATABASE ${new URL(database).pathname.slice(1)} SET ${setting}`);
    await using store = await openStoreAt(database);
    await using opened = await openInProcesses(store, database);
    const names = await createInProcesses(opened.processes);
    expect((await store.tokens.all()).map(({ name }) => name)).toEqual(names);
  });
});

type Process = Pick<Store, "tokens">;

/** The tokens of the service, and those that four commands have opened. */
async function openInProcesses(store: Store, database: string) {
  await using owned = new AsyncDisposableStack();
  const processes: Process[] = [store];
  for (let command = 0; command < 4; command++)
    processes.push(owned.use(await openTokensAt(database, { mayCreate: false })));
  const moved = owned.move();
  return { processes, [Symbol.asyncDispose]: () => moved.disposeAsync() };
}

/**
 * Creates a token in all processes at once, which one must do, and returns its name; many times, since it is a race. On a slow
 * machine the database may have no time for one of them, which tries again: if its first attempt was the one, it is refused too.
 */
async function createInProcesses(processes: readonly Process[]): Promise<string[]> {
  const names = Array.from({ length: 20 }, (_, round) => `name ${round}`);
  const by = { actor: "test", address: undefined };
  for (const [round, name] of names.entries()) {
    const wanted = { name, scopes: ["plants:create"], lifetimeMs: undefined } as const;
    let hasRetried = false;
    const create = async ({ tokens }: Process): Promise<unknown> => {
      try {
        return await createToken(tokens, wanted, by, round);
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) throw error;
        hasRetried = true;
        return create({ tokens });
      }
    };
    const creating = processes.map(create);
    const settled = await Promise.allSettled(creating);
    const refusals = settled.flatMap((each) => (each.status === "rejected" ? [each.reason] : []));
    const losers = processes.length - 1;
    expect(hasRetried ? [losers, processes.length] : [losers]).toContain(refusals.length);
    for (const refusal of refusals) expect(refusal).toBeInstanceOf(TokenProblem);
  }
  return names;
}
