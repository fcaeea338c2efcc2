// What every store does, on each engine: plants, tokens, pages, searches and the audit trail.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import type { AuditEntry, AuditFilter } from "../../src/access/audit.ts";
import { createToken, type Token, TokenProblem, type TokenStore } from "../../src/access/tokens.ts";
import { beginningCursor, CursorProblem, type PageRequest } from "../../src/plants/plant-archive.ts";
import type { PlantToStore } from "../../src/plants/plant-store.ts";
import { openStore, openTokens } from "../../src/storage/open-store.ts";
import type { Store } from "../../src/storage/store.ts";
import { stoppedWallClock } from "../support/clock.ts";
import { onEveryEngine, onServer, onSqlite } from "../support/engines.ts";
import { eventually } from "../support/eventually.ts";
import { kindsOf, testPlant } from "../support/stored-plants.ts";

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

/** The plant after this cursor. */
const follow = ({ archive }: Store, after: string) => archive.pageAfter({ ...request({ limit: 1 }), after });

// The contract of the ports, for every engine.
onEveryEngine((engine) => {
  const openNew = async () => open(await engine.newDatabase());

  describe("plants", () => {
    // One store for all of them: each test uses ids of its own.
    let store: Store;
    let lastId = 0n;
    beforeAll(async () => {
      store = await openNew();
    });
    afterAll(() => store[Symbol.asyncDispose]());

    function newId(): bigint {
      lastId += 1n;
      return lastId;
    }

    test("in one batch are processed in order: the first with an id wins", async () => {
      const first = newId();
      const second = newId();
      const batch = [
        testPlant(second, "a"),
        testPlant(first, "b", "t"),
        testPlant(second, "a"),
        testPlant(second, "c", "t"),
      ];
      expect(await store.plants.create(batch, 1)).toEqual([
        { kind: "created" },
        { kind: "created" },
        { kind: "replayed" },
        { kind: "conflict", differing: ["name", "tag"] },
      ]);
      expect(await store.archive.find(second)).toMatchObject({ name: "a", tag: undefined });
    });

    test("of an earlier batch win over those of a later one", async () => {
      const stored = newId();
      const tagged = newId();
      const added = newId();
      await store.plants.create([testPlant(stored, "a"), testPlant(tagged, "b", "t")], 1);
      const later = [
        testPlant(stored, "c"),
        testPlant(added, "d"),
        testPlant(tagged, "b", "t"),
        testPlant(added, "d"),
      ];
      expect(kindsOf(await store.plants.create(later, 2))).toEqual([
        "conflict",
        "created",
        "replayed",
        "replayed",
      ]);
      expect((await store.archive.find(stored))?.name).toBe("a");
    });

    test("are counted once for each id, and not by a probe", async () => {
      await using counted = await openNew();
      const batch = [testPlant(1, "a"), testPlant(2, "b"), testPlant(1, "a"), testPlant(2, "c")];
      await counted.plants.create(batch, 1);
      await counted.plants.probe();
      expect(await counted.archive.total()).toBe(2);
    });

    const extremes = ["-9223372036854775808", "9223372036854775807", "9007199254740992", "9007199254740993"];
    test.each(extremes)("are found with everything that was stored under the id %s", async (digits) => {
      const id = BigInt(digits);
      const { plant } = testPlant(id, `name of ${id}`);
      await store.plants.create([{ plant, createdBy: "who" }], 1234);
      expect(await store.archive.find(id)).toEqual({
        ...plant,
        createdAtMs: engine.storedAt(1234),
        createdBy: "who",
      });
    });

    test("are found by many ids at once, without those that are not stored", async () => {
      const ids = [newId(), newId()];
      await store.plants.create(
        ids.map((id) => testPlant(id, "a")),
        1,
      );
      const found = await store.archive.findAll([...ids, newId()]);
      expect(new Set(found.map(({ id }) => id))).toEqual(new Set(ids));
    });

    test("that are not stored are not found", async () => {
      expect(await store.archive.find(newId())).toBeUndefined();
    });

    // Most of these are special in PostgreSQL's arrays.
    const special = ["null", "NULL", "", "{}", '{"a"}', '"', "\\", '\\"', "a,b", " ", "\n\r\t", "a'b", "\\N"];
    const texts = [...special, "🌱é\u{10ffff}", "%_$1"];
    test.each(texts)("keep the text %j unchanged", async (text) => {
      const named = testPlant(newId(), text, `x${text}`);
      const tagged = testPlant(newId(), `x${text}`, text);
      await store.plants.create([named, tagged], 1);
      expect(await store.archive.find(named.plant.id)).toMatchObject(named.plant);
      expect(await store.archive.find(tagged.plant.id)).toMatchObject(tagged.plant);
      expect(kindsOf(await store.plants.create([named, tagged], 2))).toEqual(["replayed", "replayed"]);
    });

    test("keep all such texts of one batch apart", async () => {
      const batch = texts.map((text) => testPlant(newId(), text, `x${text}`));
      await store.plants.create(batch, 1);
      const found = await store.archive.findAll(batch.map(({ plant }) => plant.id));
      const names = new Map(found.map(({ id, name, tag }) => [id, { name, tag }]));
      expect(names).toEqual(new Map(batch.map(({ plant: { id, name, tag } }) => [id, { name, tag }])));
    });

    test("as large as a body may be are stored in any number, in order", async () => {
      const large = Array.from({ length: 80 }, () => {
        const id = newId();
        return testPlant(id, `${id} ${"x".repeat(60_000)}`);
      });
      const first = large[0] as PlantToStore;
      const last = large[79] as PlantToStore;
      const kinds = kindsOf(
        await store.plants.create([...large, first, testPlant(last.plant.id, "other")], 1),
      );
      expect(kinds).toEqual([...Array(80).fill("created"), "replayed", "conflict"]);
      expect(await store.archive.find(last.plant.id)).toMatchObject(last.plant);
    });

    // Random, so that no engine can compress it below one of its limits.
    const randomText = (length: number) => randomBytes(length / 2).toString("hex");
    test.each([
      ["of 65,000 characters", "a", randomText(65_000)],
      ["of 10 characters and a name of 65,000", randomText(65_000), randomText(10)],
      ["of 2,700 characters", "c", randomText(2700)],
      ["of 64,000 bytes beyond ASCII", "d", "🌱".repeat(16_000)],
    ])("with a tag %s are found by it", async (_, name, tag) => {
      const { plant, createdBy } = testPlant(newId(), name, tag);
      expect(kindsOf(await store.plants.create([{ plant, createdBy }], 1))).toEqual(["created"]);
      const page = await store.archive.page(request({ filter: { tag } }));
      expect(page.plants).toMatchObject([plant]);
    });
  });

  describe("tokens", () => {
    test("are listed with every field, oldest first", async () => {
      await using store = await openNew();
      const newer = token("aaa", { createdAtMs: 9 });
      const older = token("bbb", { expiresAtMs: 2 ** 45 });
      await store.tokens.add(newer, entry("token.created"));
      await store.tokens.add(older, entry("token.created"));
      expect(await store.tokens.all()).toEqual([older, newer]);
    });

    test("are updated together with the one that replaces them", async () => {
      await using store = await openNew();
      const old = token("aaa");
      const replacement = token("bbb", { createdAtMs: 10 });
      await store.tokens.add(old, entry("token.created"));
      await store.tokens.addReplacement(replacement, entry("token.rotated"), [{ ...old, expiresAtMs: 77 }]);
      expect(await store.tokens.all()).toEqual([{ ...old, expiresAtMs: 77 }, replacement]);
    });

    test("change without a change of others", async () => {
      await using store = await openNew();
      const revoked = token("aaa");
      const other = token("bbb", { createdAtMs: 10 });
      await store.tokens.add(revoked, entry("token.created"));
      await store.tokens.add(other, entry("token.created"));
      await store.tokens.change([{ ...revoked, revokedAtMs: 88 }], entry("token.revoked"));
      expect(await store.tokens.all()).toEqual([{ ...revoked, revokedAtMs: 88 }, other]);
    });

    test("keep their first revocation and their earliest expiry", async () => {
      await using store = await openNew();
      const added = token("aaa");
      await store.tokens.add(added, entry("token.created"));
      const change = (times: Partial<Token>) =>
        store.tokens.change([{ ...added, ...times }], entry("token.revoked"));
      await change({ expiresAtMs: 90, revokedAtMs: 60 });
      await change({ expiresAtMs: 80, revokedAtMs: 70 });
      await change({ expiresAtMs: 85 });
      await change({});
      expect(await store.tokens.all()).toEqual([{ ...added, expiresAtMs: 80, revokedAtMs: 60 }]);
    });

    // Each was created at 5, and is to be replaced at 10.
    test.each([
      ["revoked", token("aaa", { revokedAtMs: 9 })],
      ["expired", token("aaa", { expiresAtMs: 10 })],
      ["not stored", undefined],
    ])("that are %s are not rotated, nor are others with them", async (_, ended) => {
      await using store = await openNew();
      const live = token("bbb", { createdAtMs: 6, expiresAtMs: 11 });
      const stored = ended === undefined ? [live] : [ended, live];
      for (const each of stored) await store.tokens.add(each, entry("token.created"));
      const replacement = token("ccc", { createdAtMs: 10 });
      const replaced = [
        { ...live, expiresAtMs: 10 },
        { ...(ended ?? token("not stored")), expiresAtMs: 9, revokedAtMs: undefined },
      ];
      const rotating = store.tokens.addReplacement(replacement, entry("token.rotated"), replaced);
      await expect(rotating).rejects.toThrow(TokenProblem);
      expect(await store.tokens.all()).toEqual(stored);
      expect((await store.audit.page(10, undefined)).entries).toHaveLength(stored.length);
    });

    test("that have not expired yet are rotated", async () => {
      await using store = await openNew();
      const live = token("aaa", { expiresAtMs: 11 });
      const replacement = token("bbb", { createdAtMs: 10 });
      await store.tokens.add(live, entry("token.created"));
      await store.tokens.addReplacement(replacement, entry("token.rotated"), [live]);
      expect(await store.tokens.all()).toEqual([live, replacement]);
    });

    test("that another process creates or revokes have another version", async () => {
      const database = await engine.newDatabase();
      await using store = await open(database);
      await using other = await openTokens(settingOf(database), { create: false });
      const empty = await store.tokens.version();
      expect(await store.tokens.version()).toBe(empty);

      await other.tokens.add(token("aaa"), entry("token.created"));
      // Another reader must not consume the change for the one that watches.
      await store.tokens.all();
      const created = await store.tokens.version();
      expect(created).not.toBe(empty);

      await other.tokens.change([token("aaa", { revokedAtMs: 1 })], entry("token.revoked"));
      expect(await store.tokens.version()).not.toBe(created);
    });

    test("keep the latest time of their use, which is no change to reload or to audit", async () => {
      await using store = await openNew();
      await store.tokens.add(token("aaa"), entry("token.created"));
      const before = await store.tokens.version();
      for (const atMs of [70, 90, 80])
        await store.tokens.recordUses([
          { digest: "aaa", atMs },
          { digest: "not stored", atMs },
        ]);
      expect(await store.tokens.all()).toEqual([token("aaa", { lastUsedAtMs: 90 })]);
      expect(await store.tokens.version()).toBe(before);
      expect((await store.audit.page(10, undefined)).entries).toHaveLength(1);
    });

    test("of a name that a live one has are not added", async () => {
      await using store = await openNew();
      const live = token("aaa", { expiresAtMs: 11 });
      await store.tokens.add(live, entry("token.created"));
      const second = token("bbb", { name: live.name, createdAtMs: 10 });
      const adding = store.tokens.add(second, entry("token.created"));
      await expect(adding).rejects.toThrow(TokenProblem);
      expect(await store.tokens.all()).toEqual([live]);
      expect((await store.audit.page(10, undefined)).entries).toHaveLength(1);
    });

    test.each([
      ["expired", { expiresAtMs: 10 }],
      ["revoked", { revokedAtMs: 9 }],
    ])("of a name that one had that is %s are added", async (_, end) => {
      await using store = await openNew();
      const ended = token("aaa");
      await store.tokens.add(ended, entry("token.created"));
      await store.tokens.change([{ ...ended, ...end }], entry("token.revoked"));
      const second = token("bbb", { name: ended.name, createdAtMs: 10 });
      await store.tokens.add(second, entry("token.created"));
      expect(await store.tokens.all()).toEqual([{ ...ended, ...end }, second]);
    });

    test("of a name that a live one has are added as copies of another store", async () => {
      await using store = await openNew();
      const live = token("aaa");
      await store.tokens.add(live, entry("token.created"));
      const copy = token("bbb", { name: live.name, createdAtMs: 10 });
      await store.tokens.addCopy(copy, entry("token.copied"));
      expect(await store.tokens.all()).toEqual([live, copy]);
    });

    test("of one name are created by only one of several processes", async () => {
      const database = await engine.newDatabase();
      await using store = await open(database);
      await using others = new AsyncDisposableStack();
      const processes: Pick<Store, "tokens">[] = [store];
      for (let other = 0; other < 4; other++)
        processes.push(others.use(await openTokens(settingOf(database), { create: false })));
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
      const database = await engine.newDatabase();
      await using store = await open(database);
      await using others = new AsyncDisposableStack();
      const processes: Pick<Store, "tokens">[] = [store];
      for (let other = 0; other < 4; other++)
        processes.push(others.use(await openTokens(settingOf(database), { create: false })));
      await Promise.all(
        processes.map(({ tokens }, index) =>
          tokens.addFirst(token(`digest ${index}`), entry("token.created")),
        ),
      );
      expect(await store.tokens.all()).toHaveLength(1);
      expect((await store.audit.page(10, undefined)).entries).toHaveLength(1);
    });

    test("are not added as the first if there is one", async () => {
      await using store = await openNew();
      await store.tokens.add(token("aaa"), entry("token.created"));
      await store.tokens.addFirst(token("bbb"), entry("token.created"));
      expect(await store.tokens.all()).toEqual([token("aaa")]);
      expect((await store.audit.page(10, undefined)).entries).toHaveLength(1);
    });
  });

  describe("the audit trail", () => {
    describe("with three entries", () => {
      const oldestFirst = [
        entry("token.created", { actor: "os:me", subject: "ünïcode", detail: "a; b" }),
        entry("console.signed-in", { address: "2001:db8::1" }),
        entry("export.started", { atMs: 8 }),
      ];
      const newestFirst = oldestFirst.toReversed();
      let store: Store;
      beforeAll(async () => {
        store = await openNew();
        for (const each of oldestFirst) await store.audit.record(each);
      });
      afterAll(() => store[Symbol.asyncDispose]());

      test("has every field of them, newest first", async () => {
        const page = await store.audit.page(3, undefined);
        expect(page).toEqual({ entries: newestFirst, next: undefined });
      });

      test("continues on the next page", async () => {
        const { entries, next } = await store.audit.page(2, undefined);
        expect(entries).toEqual(newestFirst.slice(0, 2));
        expect(await store.audit.page(2, next)).toEqual({ entries: newestFirst.slice(2), next: undefined });
      });

      test.each<[what: string, filter: AuditFilter, positions: number[]]>([
        ["of an action", { action: "console.signed-in" }, [1]],
        ["by an actor", { actor: "os:me" }, [2]],
        ["since a time, which is the first", { sinceMs: 8 }, [0]],
        ["until a time, which is not included", { untilMs: 8 }, [1, 2]],
        ["of an action by someone who did not do it", { action: "export.started", actor: "os:me" }, []],
      ])("lists the entries %s", async (_, filter, positions) => {
        const { entries } = await store.audit.page(3, undefined, filter);
        expect(entries).toEqual(positions.map((position) => newestFirst[position] as AuditEntry));
      });

      test("continues on the next page of a filter", async () => {
        const filter = { untilMs: 8 };
        const { next } = await store.audit.page(1, undefined, filter);
        expect(await store.audit.page(1, next, filter)).toEqual({
          entries: newestFirst.slice(2),
          next: undefined,
        });
      });

      test.each(["x", "", "9".repeat(40), "' OR 1=1"])(
        "refuses the cursor %j, which no page returned",
        async (cursor) => {
          await expect(store.audit.page(2, cursor)).rejects.toThrow(CursorProblem);
        },
      );
    });

    describe("that refuses entries", () => {
      const old = token("old");
      const revoked = { ...old, revokedAtMs: 9 };

      test.each<[change: string, stored: Token[], make: (tokens: TokenStore) => Promise<void>]>([
        ["a new token", [old], (tokens) => tokens.add(token("new"), entry("token.created"))],
        [
          "a rotated token",
          [old],
          (tokens) => tokens.addReplacement(token("new"), entry("token.rotated"), [revoked]),
        ],
        ["a revoked token", [old], (tokens) => tokens.change([revoked], entry("token.revoked"))],
        ["the first token", [], (tokens) => tokens.addFirst(token("new"), entry("token.created"))],
      ])("keeps %s from being stored without its entry", async (_, stored, make) => {
        const database = await engine.newDatabase();
        await using opened = await openTokens(settingOf(database), { create: true });
        for (const each of stored) await opened.tokens.add(each, entry("token.created"));
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

    test("keeps every change of a token, and of the other entries the newest 100,000", async () => {
      const database = await engine.newDatabase();
      await (await open(database))[Symbol.asyncDispose]();
      await engine.fillAuditTrail(database);
      const stored = async (condition: string) => {
        const sql = `SELECT count(*) AS count, min(at_ms) AS oldest FROM audit_trail WHERE action ${condition}`;
        const [row] = await engine.run(database, sql);
        return { count: Number(row?.["count"]), oldest: Number(row?.["oldest"]) };
      };
      let newestMs = 100_015;
      // On a busy machine PostgreSQL may not remove them in time. Then the next process does, at its first entry.
      await eventually(async () => {
        await using store = await open(database);
        newestMs += 1;
        await store.audit.record(entry("console.signed-in", { atMs: newestMs }));
        return (await stored("NOT LIKE 'token.%'")).count === 100_000;
      }, "the oldest to be removed");
      expect(await stored("NOT LIKE 'token.%'")).toEqual({ count: 100_000, oldest: newestMs - 99_999 });
      expect(await stored("LIKE 'token.%'")).toEqual({ count: 5, oldest: 1 });
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
          testPlant((number * 7) % 25, `Plant ${number} Ä`, tagOf(number), `by-${batch}`),
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

    describe.each([1, 7, 25])("in pages of %d", (limit) => {
      test("the list has every plant once", async () => {
        const listed = await allPages({ limit });
        expect(listed.map(({ id }) => id).sort((a, b) => Number(a - b))).toEqual(
          Array.from({ length: 25 }, (_, id) => BigInt(id)),
        );
      });

      test("the list begins with the newest plants", async () => {
        const times = (await allPages({ limit })).map(({ createdAtMs }) => createdAtMs);
        expect(times).toEqual(times.toSorted((a, b) => b - a));
      });

      test("the list with the oldest first is the other one reversed", async () => {
        const newestFirst = await allPages({ limit });
        expect(await allPages({ limit, order: "oldest-first" })).toEqual(newestFirst.toReversed());
      });
    });

    test("a page with all the rest of the plants has no next one", async () => {
      const page = await store.archive.page(request({ limit: 25 }));
      expect(page.plants).toHaveLength(25);
      expect(page.next).toBeUndefined();
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
      ["all together", { tag: "tree", namePart: "plant", createdBy: "by-0", untilMs: startMs + minuteMs }, 2],
    ];
    const everyFilter: typeof filters = [["nothing", {}, 25], ...filters];
    test.each(filters)("a filter by %s finds its plants", async (_, filter, count) => {
      expect(await allPages({ filter, limit: 2 })).toHaveLength(count);
      expect(await allPages({ filter, limit: 100 })).toHaveLength(count);
    });

    test.each(everyFilter)("a filter by %s counts its plants", async (_, filter, count) => {
      const counted = await store.archive.count(filter, undefined, 60_000);
      expect(counted).toEqual({ plants: count, next: undefined });
    });

    test("the total is the same however often it is asked for", async () => {
      expect(await store.archive.total()).toBe(25);
      expect(await store.archive.total()).toBe(25);
      expect(await store.archive.total()).toBe(25);
    });

    test("plants are counted by minutes", async () => {
      const perMinute = await store.archive.createdPerBucket(startMs - minuteMs, 4, minuteMs);
      expect(perMinute).toEqual([0, 5, 5, 5]);
    });

    test("plants are counted by hours", async () => {
      const hourMs = 60 * minuteMs;
      const perHour = await store.archive.createdPerBucket(startMs - hourMs, 3, hourMs);
      expect(perHour).toEqual([0, 25, 0]);
    });

    test("totals stay right while plants arrive", async () => {
      await using live = await openNew();
      for (let count = 1; count <= 5; count++) {
        // Each a little late, as from a node whose clock is slow.
        await live.plants.create([testPlant(count, "a")], Date.now() - (5 - count) * 3000);
        expect(await live.archive.total()).toBe(count);
      }
    });

    test("totals stay right after the clock steps back", async () => {
      await using live = await openNew();
      const nowMs = Date.now();
      using clock = stoppedWallClock(nowMs + 3_600_000);
      await live.plants.create([testPlant(1, "a")], nowMs);
      expect(await live.archive.total()).toBe(1);
      clock.nowMs = nowMs;
      expect(await live.archive.total()).toBe(1);
      await live.plants.create([testPlant(2, "b")], nowMs);
      expect(await live.archive.total()).toBe(2);
    });

    /** All plants from the beginning, as a client that follows the store gets them, until it has caught up. */
    const followed = async (filter: PageRequest["filter"], limit: number, searchMsMax = 60_000) => {
      const plants = [];
      for (let after = beginningCursor, pages = 0; ; pages++) {
        const page = await store.archive.pageAfter({ after, filter, limit, searchMsMax });
        plants.push(...page.plants);
        after = page.next;
        if (page.next === page.newest) return plants;
        expect(pages).toBeLessThan(100);
      }
    };

    test.each(everyFilter)(
      "with a filter by %s, a follower gets what the list has, oldest first",
      async (_, filter, _count) => {
        const listed = await allPages({ filter, order: "oldest-first" });
        expect(await followed(filter, 1)).toEqual(listed);
        expect(await followed(filter, 26)).toEqual(listed);
        // A search that has no time left returns a cursor to go on with, and progresses.
        expect(await followed(filter, 7, 0)).toEqual(listed);
      },
    );

    describe("a page after a cursor", () => {
      test("that an empty store returned reads from the beginning once there is a plant", async () => {
        await using store = await openNew();
        const { newest: ofEmpty, fromBeginning } = await follow(store, beginningCursor);
        expect(fromBeginning).toBe(true);
        // A client that polls an empty store reads nothing.
        expect((await follow(store, ofEmpty)).fromBeginning).toBe(false);
        await store.plants.create([testPlant(1, "first")], Date.now());
        expect((await follow(store, ofEmpty)).fromBeginning).toBe(true);
      });
    });

    describe.each(["x", "", "1.2.3", "9".repeat(40), "1;DROP TABLE plants"])(
      "the cursor %j, which no page returned,",
      (cursor) => {
        test("is refused by the list", async () => {
          await expect(store.archive.page(request({ cursor }))).rejects.toThrow(CursorProblem);
        });

        test("cannot be followed", async () => {
          const following = store.archive.pageAfter({ ...request({}), after: cursor });
          await expect(following).rejects.toThrow(CursorProblem);
        });
      },
    );
  });
});

describe("a page after the cursor of a plant does not read from the beginning", () => {
  /** Stores two plants, a minute apart, and returns the page of the first. */
  async function createTwo(store: Store) {
    await store.plants.create([testPlant(1, "first")], Date.now());
    await store.plants.create([testPlant(2, "second")], Date.now() + 60_000);
    const page = await follow(store, beginningCursor);
    expect(page.fromBeginning).toBe(true);
    return page;
  }

  onSqlite((engine) => {
    test("that a page names", async () => {
      await using store = await open(await engine.newDatabase());
      const page = await createTwo(store);
      expect(await follow(store, page.next)).toMatchObject({ plants: [{ id: 2n }], fromBeginning: false });
    });
  });

  onServer((engine) => {
    // A page names the cursor of an older plant, so that a follower reads the newest plants again.
    test("of its time and id", async () => {
      await using store = await open(await engine.newDatabase());
      const page = await createTwo(store);
      const after = `${page.plants[0]?.createdAtMs}.1`;
      expect(await follow(store, after)).toMatchObject({ plants: [{ id: 2n }], fromBeginning: false });
    });
  });
});
