import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import type { AuditEntry } from "../src/access/audit.ts";
import { type Token, TokenProblem } from "../src/access/tokens.ts";
import { beginning, CursorProblem, type PageRequest } from "../src/plants/plant-archive.ts";
import type { PlantToStore } from "../src/plants/plant-store.ts";
import { openStore, openTokens } from "../src/storage/open-store.ts";
import type { Store } from "../src/storage/store.ts";
import { onEveryEngine } from "./engines.ts";
import { kindsOf } from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const arrival = (id: bigint | number, name: string, tag?: string, createdBy = "test"): PlantToStore => ({
  plant: { id: BigInt(id), name, tag },
  createdBy,
});
const settingOf = (database: string) => ({
  database,
  databasePassword: undefined,
  allowUnsafeDatabase: false,
});
const open = (database: string): Promise<Store> => openStore(settingOf(database));

const request = (more: Partial<PageRequest>): PageRequest => ({
  filter: {},
  order: "newest-first",
  cursor: undefined,
  limit: 10,
  searchMsMax: 60_000,
  ...more,
});

// The contract of the ports, for every engine.
onEveryEngine((engine) => {
  const openNew = async () => open(await engine.newDatabase());

  describe("plants", () => {
    let store: Store;
    beforeAll(async () => {
      store = await openNew();
    });
    afterAll(() => store[Symbol.asyncDispose]());

    test("in one batch are processed in order: the first with an id wins", async () => {
      const batch = [arrival(2, "a"), arrival(1, "b", "t"), arrival(2, "a"), arrival(2, "c", "t")];
      expect(await store.plants.create(batch, 1)).toEqual([
        { kind: "created" },
        { kind: "created" },
        { kind: "replayed" },
        { kind: "conflict", differing: ["name", "tag"] },
      ]);
      const again = [arrival(2, "c"), arrival(3, "d"), arrival(1, "b", "t"), arrival(3, "d")];
      const kinds = ["conflict", "created", "replayed", "replayed"];
      expect(kindsOf(await store.plants.create(again, 2))).toEqual(kinds);
      expect((await store.archive.find(2n))?.name).toBe("a");
      await store.plants.probe();
      expect(await store.archive.total()).toBe(3);
    });

    test("are found with everything that was stored, whatever their id", async () => {
      const ids = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 53n, 2n ** 53n + 1n];
      const batch = ids.map((id) => arrival(id, `name of ${id}`, id < 0n ? "" : undefined, "who"));
      await store.plants.create(batch, 1234);
      const createdAtMs = expect.closeTo(1234, -4); // On PostgreSQL, that of the attempt that succeeded.
      for (const { plant } of batch)
        expect(await store.archive.find(plant.id)).toEqual({ ...plant, createdAtMs, createdBy: "who" });
      expect(await store.archive.find(77n)).toBeUndefined();
      expect(await store.archive.findAll([...ids, 77n])).toHaveLength(4);
    });

    test("keep every text unchanged", async () => {
      // Texts that are special in PostgreSQL's arrays.
      const awkward = ["null", "NULL", "", "{}", '{"a"}', '"', "\\", '\\"', "a,b", " ", "\n\r\t", "'", "\\N"];
      const texts = [...awkward, "🌱é\u{10ffff}", "%_$1"];
      const batch = texts.flatMap((text, index) => [
        arrival(100 + index * 2, text, `x${text}`),
        arrival(101 + index * 2, `x${text}`, text),
      ]);
      await store.plants.create(batch, 1);
      for (const { plant } of batch) expect(await store.archive.find(plant.id)).toMatchObject(plant);
      expect(new Set(kindsOf(await store.plants.create(batch, 2)))).toEqual(new Set(["replayed"]));
    });

    test("as large as a body may be are stored in any number, in order, and found by their tag", async () => {
      const large = (id: number) => arrival(id, `${id} ${"x".repeat(60_000)}`);
      const batch = [
        ...Array.from({ length: 80 }, (_, id) => large(1000 + id)),
        large(1000),
        arrival(1079, "other"),
      ];
      const kinds = kindsOf(await store.plants.create(batch, 1));
      expect(kinds).toEqual([...Array(80).fill("created"), "replayed", "conflict"]);
      expect((await store.archive.find(1079n))?.name.length).toBe(60_005);
      // Random, so that no engine can compress it below one of its limits.
      const text = (bytes: number) => randomBytes(bytes / 2).toString("hex");
      const plants = [
        arrival(2001, "a", text(65_000)),
        arrival(2002, text(65_000), text(10)),
        arrival(2003, "c", text(2700)),
        arrival(2004, "d", "🌱".repeat(16_000)),
      ];
      expect(kindsOf(await store.plants.create(plants, 1))).toEqual(Array(4).fill("created"));
      for (const { plant } of plants) {
        const page = await store.archive.page(request({ filter: { tag: plant.tag } }));
        expect(page.plants).toMatchObject([plant]);
      }
    });
  });

  const entry = (action: AuditEntry["action"], more: Partial<AuditEntry> = {}): AuditEntry => ({
    atMs: 7,
    actor: "test",
    action,
    subject: "it",
    address: undefined,
    detail: "",
    ...more,
  });
  const token = (digest: string, more: Partial<Token> = {}): Token => ({
    id: digest.slice(0, 2),
    name: `name of ${digest}`,
    digest,
    scopes: ["plants:create", "operator"],
    createdAtMs: 5,
    expiresAtMs: undefined,
    revokedAtMs: undefined,
    createdBy: "os:somebody",
    lastUsedAtMs: undefined,
    ...more,
  });

  describe("tokens", () => {
    test("are stored with every field, oldest first, and updated in one transaction with a new one", async () => {
      await using store = await openNew();
      const [first, second] = [token("aaa", { createdAtMs: 9 }), token("bbb", { expiresAtMs: 2 ** 45 })];
      await store.tokens.add(first, entry("token.created"));
      await store.tokens.add(second, entry("token.created"));
      expect(await store.tokens.all()).toEqual([second, first]);
      const third = token("ccc", { createdAtMs: 10 });
      await store.tokens.add(third, entry("token.rotated"), [{ ...first, expiresAtMs: 77 }]);
      await store.tokens.change([{ ...second, revokedAtMs: 88 }], entry("token.revoked"));
      expect(await store.tokens.all()).toEqual([
        { ...second, revokedAtMs: 88 },
        { ...first, expiresAtMs: 77 },
        third,
      ]);
    });

    test("that were revoked stay so, and no expiry moves to a later time", async () => {
      await using store = await openNew();
      const one = token("aaa");
      await store.tokens.add(one, entry("token.created"));
      for (const change of [
        { expiresAtMs: 90, revokedAtMs: 60 },
        { expiresAtMs: 80, revokedAtMs: 70 },
        { expiresAtMs: 85 },
        {},
      ])
        await store.tokens.change([{ ...one, ...change }], entry("token.revoked"));
      expect(await store.tokens.all()).toEqual([{ ...one, expiresAtMs: 80, revokedAtMs: 60 }]);
    });

    test("are not rotated once they are revoked or have expired: nothing is added or changed", async () => {
      await using store = await openNew();
      const ended = [token("aaa", { revokedAtMs: 9 }), token("bbb", { expiresAtMs: 10 })];
      const live = token("ccc", { expiresAtMs: 11 });
      for (const one of [...ended, live]) await store.tokens.add(one, entry("token.created"));
      const rotate = (...old: Token[]) =>
        store.tokens.add(token("ddd", { createdAtMs: 10 }), entry("token.rotated"), old);
      for (const one of [...ended, token("not stored")])
        await expect(
          rotate({ ...live, expiresAtMs: 10 }, { ...one, expiresAtMs: 9, revokedAtMs: undefined }),
        ).rejects.toThrow(TokenProblem);
      expect(await store.tokens.all()).toEqual([...ended, live]);
      expect((await store.audit.page(10, undefined)).entries).toHaveLength(3);
      await rotate(live);
      expect(await store.tokens.all()).toHaveLength(4);
    });

    test("that another process creates or revokes are detected", async () => {
      const database = await engine.newDatabase();
      await using store = await open(database);
      await using other = await openTokens(settingOf(database), { create: false });
      const first = await store.tokens.version();
      expect(await store.tokens.version()).toBe(first);
      await other.tokens.add(token("aaa"), entry("token.created"));
      // Another reader must not consume the change for the one that watches.
      await store.tokens.all();
      const second = await store.tokens.version();
      expect(second).not.toBe(first);
      await other.tokens.change([token("aaa", { revokedAtMs: 1 })], entry("token.revoked"));
      expect(await store.tokens.version()).not.toBe(second);
    });

    test("keep the time of their last use, which makes no node reload them", async () => {
      await using store = await openNew();
      await store.tokens.add(token("aaa"), entry("token.created"));
      const before = await store.tokens.version();
      for (const atMs of [70, 90, 80])
        await store.tokens.recordUses([
          { digest: "aaa", atMs },
          { digest: "not stored", atMs },
        ]);
      expect(await store.tokens.version()).toBe(before);
      expect(await store.tokens.all()).toEqual([token("aaa", { lastUsedAtMs: 90 })]);
      expect((await store.audit.page(10, undefined)).entries).toHaveLength(1);
    });

    test("are added as the first by only one of several processes, and never if there is one", async () => {
      const database = await engine.newDatabase();
      await using store = await open(database);
      const others = await Promise.all(
        Array.from({ length: 4 }, () => openTokens(settingOf(database), { create: false })),
      );
      await Promise.all(
        [store, ...others].map(({ tokens }, index) =>
          tokens.addFirst(token(`digest ${index}`), entry("token.created")),
        ),
      );
      expect(await store.tokens.all()).toHaveLength(1);
      await store.tokens.addFirst(token("later"), entry("token.created"));
      expect(await store.tokens.all()).toHaveLength(1);
      expect((await store.audit.page(10, undefined)).entries).toHaveLength(1);
      for (const other of others) await other[Symbol.asyncDispose]();
    });
  });

  describe("the audit trail", () => {
    test("has every field of every entry, newest first, in pages", async () => {
      await using store = await openNew();
      const entries = [
        entry("token.created", { actor: "os:me", subject: "ünïcode", detail: "a; b" }),
        entry("console.signed-in", { address: "2001:db8::1" }),
        entry("export.started", { atMs: 8 }),
      ];
      for (const one of entries) await store.audit.record(one);
      expect(await store.audit.page(3, undefined)).toEqual({
        entries: entries.toReversed(),
        next: undefined,
      });
      const { next } = await store.audit.page(2, undefined);
      expect(await store.audit.page(2, next)).toEqual({ entries: entries.slice(0, 1), next: undefined });
      for (const cursor of ["x", "", "9".repeat(40), "' OR 1=1"])
        await expect(store.audit.page(2, cursor)).rejects.toThrow(CursorProblem);
    });

    // By commands, since a SQLite store is no longer used after a failed write.
    test("has an entry for each change of a token, and without one the token does not change", async () => {
      const database = await engine.newDatabase();
      const run = (...args: string[]) => runInProcess(["token", ...args, "--database", database]);
      expect((await run("create", "--name", "old")).code).toBe(0);
      const refuse =
        engine.name === "sqlite"
          ? "CREATE TRIGGER refuse BEFORE INSERT ON audit_trail BEGIN SELECT RAISE(ABORT, 'refused'); END"
          : "ALTER TABLE audit_trail ADD CONSTRAINT refuse CHECK (action = 'none') NOT VALID";
      await engine.run(database, refuse);
      const before = await engine.run(database, "SELECT * FROM tokens");
      for (const args of [
        ["create", "--name", "new"],
        ["rotate", "old"],
        ["revoke", "old"],
      ])
        expect([args, (await run(...args)).code]).toEqual([args, 1]);
      expect(await engine.run(database, "SELECT * FROM tokens")).toEqual(before);
      expect(await engine.run(database, "SELECT action, subject FROM audit_trail")).toEqual([
        { action: "token.created", subject: "old" },
      ]);
    });

    test("keeps the newest 100,000 sign-ins and exports, which remove no change of a token", async () => {
      const database = await engine.newDatabase();
      await using store = await open(database);
      const [column, value] = engine.name === "sqlite" ? ["seq", "n"] : ["id", "lpad(to_hex(n), 32, '0')"];
      await engine.run(
        database,
        `WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 100015)
         INSERT INTO audit_trail (${column}, at_ms, actor, action, subject, detail)
         SELECT ${value}, n, 'test', CASE WHEN n <= 5 THEN 'token.created' ELSE 'console.signed-in' END, '', ''
           FROM numbers`,
      );
      const kept = async (kind: string) => {
        const sql = `SELECT count(*) AS count, min(at_ms) AS oldest FROM audit_trail WHERE action ${kind}`;
        const [row] = await engine.run(database, sql);
        return [Number(row?.["count"]), Number(row?.["oldest"])];
      };
      const signIn = (atMs: number) => store.audit.record(entry("console.signed-in", { atMs }));
      await signIn(100_016);
      expect(await kept("LIKE 'token.%'")).toEqual([5, 1]);
      expect(await kept("NOT LIKE 'token.%'")).toEqual([100_000, 17]);
      if (engine.name !== "sqlite") return;
      // A process that runs for long removes the oldest again.
      await Promise.all(Array.from({ length: 1000 }, (_, index) => signIn(100_017 + index)));
      expect(await kept("NOT LIKE 'token.%'")).toEqual([100_000, 1017]);
    });
  });

  describe("reading the store", () => {
    let store: Store;
    const minuteMs = 60_000;
    const startMs = 1_700_000_000_000;
    beforeAll(async () => {
      store = await openNew();
      // Twenty-five plants with random ids, five per batch, a minute between batches.
      const tagOf = (number: number) => (number % 3 === 0 ? "tree" : undefined);
      for (const batch of [0, 1, 2, 3, 4]) {
        const numbers = [0, 1, 2, 3, 4].map((index) => batch * 5 + index);
        const plants = numbers.map((number) =>
          arrival((number * 7) % 25, `Plant ${number} Ä`, tagOf(number), `by-${batch}`),
        );
        await store.plants.create(plants, startMs + batch * minuteMs);
      }
    });
    afterAll(() => store[Symbol.asyncDispose]());

    const allPages = async (first: Partial<PageRequest>) => {
      const plants = [];
      for (let cursor: string | undefined, pages = 0; ; pages++) {
        const page = await store.archive.page(request({ ...first, cursor }));
        plants.push(...page.plants);
        cursor = page.next;
        if (cursor === undefined) return plants;
        expect(pages).toBeLessThan(100);
      }
    };

    test("pages follow each other without gap or repetition, in both orders", async () => {
      for (const limit of [1, 7, 25]) {
        const newest = await allPages({ limit });
        expect(newest.map(({ id }) => id).sort((a, b) => Number(a - b))).toEqual(
          Array.from({ length: 25 }, (_, id) => BigInt(id)),
        );
        const times = newest.map(({ createdAtMs }) => createdAtMs);
        expect(times).toEqual(times.toSorted((a, b) => b - a));
        const oldest = await allPages({ limit, order: "oldest-first" });
        expect(oldest).toEqual(newest.toReversed());
      }
      const last = await store.archive.page(request({ limit: 25 }));
      expect([last.plants.length, last.next]).toEqual([25, undefined]);
    });

    const filters: [string, PageRequest["filter"], number][] = [
      ["an id", { id: 7n }, 1],
      ["an id that is not there", { id: 99n }, 0],
      ["a tag", { tag: "tree" }, 9],
      ["a part of the name in any case", { namePart: "PLANT 1" }, 11],
      ["a part of the name beyond ASCII", { namePart: "ä" }, 25],
      ["a part that means something to databases", { namePart: "%" }, 0],
      ["who sent it", { createdBy: "by-3" }, 5],
      ["since", { sinceMs: startMs + minuteMs }, 20],
      ["until", { untilMs: startMs + minuteMs }, 5],
      ["all together", { tag: "tree", namePart: "plant", createdBy: "by-0", untilMs: startMs + 1 }, 2],
    ];
    test.each(filters)("a filter by %s finds and counts its plants", async (_, filter, count) => {
      for (const limit of [2, 100]) expect(await allPages({ filter, limit })).toHaveLength(count);
      expect(await store.archive.count(filter, undefined, 60_000)).toEqual({
        plants: count,
        next: undefined,
      });
    });

    test("totals and minutes are counted", async () => {
      for (const _ of [1, 2, 3]) expect(await store.archive.total()).toBe(25);
      expect(await store.archive.createdPerBucket(startMs - minuteMs, 4, minuteMs)).toEqual([0, 5, 5, 5]);
      expect(await store.archive.createdPerBucket(startMs - 60 * minuteMs, 3, 60 * minuteMs)).toEqual([
        0, 25, 0,
      ]);
      expect(await store.archive.count({}, undefined, 1000)).toEqual({ plants: 25, next: undefined });
    });

    test("totals stay right while plants arrive", async () => {
      await using live = await openNew();
      for (let count = 1; count <= 5; count++) {
        // Each a little late, as from a node whose clock is slow.
        await live.plants.create([arrival(count, "a")], Date.now() - (5 - count) * 3000);
        expect(await live.archive.total()).toBe(count);
      }
    });

    /** All plants from the beginning, as a client that follows the store gets them, until it has caught up. */
    const followed = async (filter: PageRequest["filter"], limit: number, searchMsMax = 60_000) => {
      const plants = [];
      for (let after = beginning, pages = 0; ; pages++) {
        const page = await store.archive.pageAfter({ after, filter, limit, searchMsMax });
        plants.push(...page.plants);
        after = page.next;
        if (page.next === page.newest) return plants;
        expect(pages).toBeLessThan(100);
      }
    };

    test("from the beginning, a follower gets what the list has, oldest first, page by page and filtered", async () => {
      for (const filter of [{}, ...filters.map(([, one]) => one)]) {
        const listed = await allPages({ filter, order: "oldest-first" });
        for (const limit of [1, 26]) expect(await followed(filter, limit)).toEqual(listed);
        // A search that has no time left returns a cursor to go on with, and progresses.
        expect(await followed(filter, 7, 0)).toEqual(listed);
      }
    });

    test("a page after a cursor that no plant precedes is read from the beginning", async () => {
      await using one = await openNew();
      const follow = (after: string) => one.archive.pageAfter({ ...request({ limit: 1 }), after });
      const { newest: ofEmpty, fromBeginning } = await follow(beginning);
      expect(fromBeginning).toBe(true);
      // A client that polls an empty store reads nothing.
      expect((await follow(ofEmpty)).fromBeginning).toBe(false);
      await one.plants.create([arrival(1, "first")], Date.now());
      await one.plants.create([arrival(2, "second")], Date.now() + minuteMs);
      expect((await follow(beginning)).fromBeginning).toBe(true);
      const page = await follow(ofEmpty);
      expect(page.fromBeginning).toBe(true);
      // On PostgreSQL a follower reads the newest plants again, so the cursor of the first is written here.
      const [first] = page.plants;
      const after = page.next === page.newest ? `${first?.createdAtMs}.1` : page.next;
      expect(await follow(after)).toMatchObject({ plants: [{ id: 2n }], fromBeginning: false });
    });

    test("a cursor that no page returned is refused, and cannot be followed", async () => {
      for (const cursor of ["x", "", "1.2.3", "9".repeat(40), "1;DROP TABLE plants"]) {
        await expect(store.archive.page(request({ cursor }))).rejects.toThrow(CursorProblem);
        const following = store.archive.pageAfter({ ...request({}), after: cursor });
        await expect(following).rejects.toThrow(CursorProblem);
      }
    });
  });
});
