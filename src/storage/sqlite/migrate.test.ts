import { Database } from "bun:sqlite";
import { describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DataFileProblem } from "./data-file-problem.ts";
import { backUp, restore } from "./maintenance/backup.ts";
import { refuseWithoutSpace } from "./maintenance/copy-before-migration.ts";
import { verify } from "./maintenance/verify.ts";
import { migrations, rewritingMigrations } from "./migrations.ts";
import { openDatabase } from "./open.ts";
import { openReadOnly } from "./reading/open-read-only.ts";
import { SqliteStore } from "./sqlite-store.ts";

// A migration that has landed was run on users' files: it never changes, and a new one is added here.
const frozen: Readonly<Record<string, string>> = {
  "postgres/migrations/001-plants.sql": "3cfada6e9959e5fa1020208bdcbf758e463f111a8654eb65b64b516098dc5888",
  "postgres/migrations/002-tokens.sql": "4bcd50a588a93b2e5bd1dbd143f8e9759a250829f635f7dff1eb2362fda16ada",
  "postgres/migrations/003-nodes.sql": "b230ecce8a1e19e7bbdc0753eb6a9f20d7770d567061d08811237205292f9cc5",
  "postgres/migrations/004-tag-prefix.sql":
    "faa82e7e3d04bbb09dd2b41f43c1287bae0b34bf68d6abcea6e2a96c7d720d2a",
  "postgres/migrations/005-audit-trail.sql":
    "705a1dfb14ffe6bf633e8e544853a8cd930f1e10f12a6eb507853df957f6957e",
  "sqlite/migrations/001-plants.sql": "d29b5e79f0b13a857e0fe4621d0270cde3f10c4f8d133a03ba61334f3351ab3d",
  "sqlite/migrations/002-tokens.sql": "76da98f6565545fae88648ddea249334d50e41ce7dbdcae24b3ef9892f05f279",
  "sqlite/migrations/003-block-times.sql": "d5a85f4abf5ff5d1669fc8193227f660b13fb253fed1ee59351cefaca5bf95fe",
  "sqlite/migrations/004-audit-trail.sql": "42546134ba683062c408cbf69aa09062c6badee19282ecf4aafd2b5bb3b82503",
  "sqlite/migrations/005-store-id.sql": "5149e411a11648704385ba35aa7fd4089f9aa5deec1e21a6b945754ccb1bb5aa",
};
const storage = join(import.meta.dir, "..");
const schemas = join(import.meta.dir, "../../../test/fixtures/schemas");
const plants = 2500;
const fullBlocks = 2048;

function temporaryFolder(): { readonly path: string } & Disposable {
  const path = mkdtempSync(join(tmpdir(), "plant-store-"));
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true, force: true }) };
}

/** A data file as the version with that schema left it. */
function fileOf(path: string, sql: string, version: number, count = plants): void {
  using database = new Database(path);
  database.run("PRAGMA journal_mode = WAL");
  database.run(sql);
  const insert = database.prepare(
    "INSERT INTO plants (id, name, tag, created_at_ms, created_by) VALUES (?, ?, ?, ?, 'test')",
  );
  database.transaction(() => {
    // Random ids, and five plants of the same time.
    for (let seq = 0; seq < count; seq++)
      insert.run((seq * 7919) % 100_003, `Fern ${seq}`, seq % 3 ? "tree" : null, 1000 + Math.floor(seq / 5));
  })();
  database.run(
    "INSERT INTO tokens (id, name, digest, scopes, created_at_ms, expires_at_ms, revoked_at_ms) VALUES ('t1', 'kept', 'digest', 'plants:create', 1, NULL, NULL), ('t2', 'gone', 'other', 'operator', 2, 3, 4)",
  );
  database.run("PRAGMA application_id = 0x504c4e54");
  database.run(`PRAGMA user_version = ${version}`);
}

function summarise(path: string): void {
  using database = new Database(path);
  database.run(
    `INSERT INTO tag_windows SELECT tag, (seq - 1) / 1024, count(*) FROM plants WHERE tag IS NOT NULL AND seq <= ${fullBlocks} GROUP BY 1, 2;
     INSERT INTO name_windows SELECT (seq - 1) / 1024, group_concat(lower(name), char(10)) FROM plants WHERE seq <= ${fullBlocks} GROUP BY 1;
     UPDATE windows_end SET seq = ${fullBlocks};`,
  );
}

function summariseTimes(path: string): void {
  using database = new Database(path);
  database.run(
    `INSERT INTO block_times SELECT (seq - 1) / 1024, min(created_at_ms), max(created_at_ms) FROM plants WHERE seq <= ${fullBlocks} GROUP BY 1`,
  );
}

function problemOf(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(DataFileProblem);
    return (error as Error).message;
  }
  return "no problem";
}

describe("migrations", () => {
  test("are frozen once they have landed", () => {
    const digests = readdirSync(storage, { recursive: true, encoding: "utf8" })
      .filter((name) => name.endsWith(".sql"))
      .map((name) => [
        name,
        createHash("sha256")
          .update(readFileSync(join(storage, name)))
          .digest("hex"),
      ]);
    expect(Object.fromEntries(digests.sort())).toEqual(frozen);
  });

  for (const name of readdirSync(schemas).sort()) {
    test(`upgrade a file of the landed schema ${name} with all its plants and tokens`, async () => {
      using folder = temporaryFolder();
      const file = join(folder.path, "plants.db");
      const version = Number.parseInt(name, 10);
      fileOf(file, readFileSync(join(schemas, name), "utf8"), version);
      if (/^(?:2-form-5|[34])\.sql$/.test(name)) summarise(file);
      if (version >= 3) summariseTimes(file);
      const before = readFileSync(file);
      expect(problemOf(() => openReadOnly(file))).toMatch(
        /plants\.db was written by an older plant-store \(schema \d, this one has \d+\): start the service on it once/,
      );
      expect(problemOf(() => openDatabase(file, { create: true, migrate: false }))).toContain(
        "an older plant-store",
      );
      expect(readFileSync(file).equals(before)).toBe(true);
      {
        await using store = new SqliteStore(file);
        const request = {
          order: "oldest-first",
          cursor: undefined,
          limit: plants,
          searchMsMax: 5000,
        } as const;
        const page = await store.archive.page({ ...request, filter: {} });
        expect(page.plants.map(({ createdAtMs }) => createdAtMs)).toEqual(
          Array.from({ length: plants }, (_, seq) => 1000 + Math.floor(seq / 5)),
        );
        const names = page.plants.map(({ name: each }) => each);
        if (name !== "2-form-1.sql")
          expect(names).toEqual(Array.from({ length: plants }, (_, seq) => `Fern ${seq}`));
        expect(new Set(names).size).toBe(plants);
        const trees = await store.archive.page({ ...request, filter: { tag: "tree", namePart: "fern 1" } });
        expect(trees.plants).toHaveLength(
          names.filter((_, seq) => seq % 3 && `Fern ${seq}`.startsWith("Fern 1")).length,
        );
        expect(await store.tokens.all()).toMatchObject([
          { id: "t1", name: "kept", revokedAtMs: undefined, createdBy: undefined, rateLimit: undefined },
          { id: "t2", expiresAtMs: 3, revokedAtMs: 4 },
        ]);
        expect(await store.audit.page(10, undefined)).toEqual({ entries: [], next: undefined });
      }
      expect(await verify(file, () => {})).toMatchObject({ plants, problems: [] });
    });
  }

  for (const [name, rewrites] of [
    ["2-form-1.sql", true],
    ["2-form-5.sql", false],
    ["3.sql", false],
  ] as const) {
    test(`${rewrites ? "copy" : "do not copy"} a file of the schema ${name} before they change it`, async () => {
      using folder = temporaryFolder();
      const file = join(folder.path, "plants.db");
      fileOf(file, readFileSync(join(schemas, name), "utf8"), Number.parseInt(name, 10));
      // What an interrupted attempt left.
      writeFileSync(`${file}.schema-2.partial`, "");
      const copied: string[] = [];
      await new SqliteStore(file, { copiedBeforeMigration: (copy) => void copied.push(copy) })[
        Symbol.asyncDispose
      ]();
      const copy = `${file}.schema-2`;
      expect(copied).toEqual(rewrites ? [copy] : []);
      expect(existsSync(copy)).toBe(rewrites);
      if (!rewrites) return;
      expect(statSync(copy).mode & 0o777).toBe(0o600);
      expect(existsSync(`${copy}.partial`)).toBe(false);
      using database = new Database(copy);
      expect(database.query("PRAGMA user_version").get()).toEqual({ user_version: 2 });
      expect(database.query("SELECT count(*) AS plants FROM plants").get()).toEqual({ plants });
      expect(problemOf(() => openReadOnly(copy))).toContain("an older plant-store");
    });
  }

  test("are not started without the space for a copy and as much again", () => {
    expect(problemOf(() => refuseWithoutSpace("plants.db", 1_000_000, 1_999_999))).toBe(
      "plants.db has an older schema whose migration rewrites it: a copy and the migration need 2.0 MB, and 2.0 MB are free. Free some space, or move the file to a larger disk.",
    );
    refuseWithoutSpace("plants.db", 1_000_000, 2_000_000);
  });

  test("that change or remove what is stored are marked, so that a copy is made", () => {
    const found = migrations.flatMap((sql, index) =>
      /\b(?:UPDATE|DELETE|DROP|RENAME|REPLACE)\b/i.test(sql.replaceAll(/--.*$/gm, "")) ? [index + 1] : [],
    );
    expect([...rewritingMigrations]).toEqual(found);
  });

  test("leave a file of the same schema unchanged, with tables of other programs and the operator's indexes", () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    fileOf(file, migrations.join("\n"), migrations.length, 3);
    {
      using database = new Database(file);
      database.run(
        "CREATE TABLE _litestream_seq (id INTEGER PRIMARY KEY, seq INTEGER); CREATE TABLE _litestream_lock (id INTEGER); CREATE INDEX by_sender ON plants (created_by)",
      );
    }
    openDatabase(file, { create: false, migrate: true }).close();
    openReadOnly(file).close();
  });

  test("give each file a store id of its own, which a restored backup does not share", async () => {
    using folder = temporaryFolder();
    const paths = ["one.db", "two.db", "backup.db", "restored.db"].map((name) => join(folder.path, name));
    const [one = "", two = "", backup = "", restored = ""] = paths;
    for (const path of [one, two]) openDatabase(path, { create: true, migrate: true }).close();
    await backUp(one, backup, () => {});
    await restore(backup, restored, () => {});
    const ids = paths.map((path) => {
      using database = openReadOnly(path);
      return database.query<{ id: string }, []>("SELECT id FROM store_id").get()?.id ?? "";
    });
    expect(ids).toEqual(Array(4).fill(expect.stringMatching(/^[0-9a-f]{16}$/)));
    expect(ids[2]).toBe(ids[0] ?? "");
    expect(new Set(ids).size).toBe(3);
  });

  const unknown: [what: string, sql: string, version: number, message: RegExp][] = [
    [
      "of its own",
      "DROP TABLE block_times; CREATE TABLE block_times (x)",
      migrations.length,
      /but other tables/,
    ],
    ["that lacks one", "DROP TABLE name_windows", migrations.length, /but other tables/],
    [
      "with a column more",
      "ALTER TABLE plants ADD COLUMN colour TEXT",
      migrations.length,
      /but other tables/,
    ],
    ["of an older number", "SELECT 1", 1, /has schema version 1, but other tables/],
    [
      "with a trigger on a table of ours",
      "CREATE TRIGGER t AFTER INSERT ON plants BEGIN DELETE FROM plants; END",
      migrations.length,
      /has the trigger "t", which could change or delete what is stored/,
    ],
    ["of a newer version", "SELECT 1", migrations.length + 1, /was written by a newer plant-store/],
  ];
  for (const [what, sql, version, message] of unknown) {
    test(`refuse a schema ${what} in one sentence, and leave the file unchanged`, () => {
      using folder = temporaryFolder();
      const file = join(folder.path, "plants.db");
      fileOf(file, `${migrations.join("\n")};${sql}`, version, 3);
      const before = readFileSync(file);
      for (const open of [
        () => new SqliteStore(file),
        () => openDatabase(file, { create: false, migrate: false }),
        () => openReadOnly(file),
      ])
        expect(problemOf(open)).toMatch(message);
      expect(readFileSync(file).equals(before)).toBe(true);
    });
  }

  test("that a kill interrupts are run by the next start", async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, "plants.db");
    fileOf(file, migrations.slice(0, 2).join("\n"), 2);
    summarise(file);
    // The last migration with a statement in its middle that fills the WAL, and one that takes minutes where there are plants.
    const slow = `${migrations[2]};
      CREATE TABLE filler AS SELECT zeroblob(8000000) AS bytes;
      WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count, (SELECT count(*) AS all_plants FROM plants) WHERE n < all_plants * 10000000) SELECT max(n) FROM count;`;
    const script = `
      import { Database } from "bun:sqlite";
      import { migrate } from ${JSON.stringify(join(import.meta.dir, "migrate.ts"))};
      import { migrations } from ${JSON.stringify(join(import.meta.dir, "migrations.ts"))};
      migrate(new Database(${JSON.stringify(file)}, { safeIntegers: true }), "it", [...migrations.slice(0, 2), ${JSON.stringify(slow)}]);`;
    const child = Bun.spawn([process.execPath, "-e", script], { stdout: "inherit", stderr: "inherit" });
    const walBytes = () => statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0;
    while (child.exitCode === null && walBytes() < 4_000_000) await Bun.sleep(5);
    expect(child.exitCode).toBeNull();
    child.kill("SIGKILL");
    await child.exited;
    await new SqliteStore(file)[Symbol.asyncDispose]();
    expect(await verify(file, () => {})).toMatchObject({ plants, problems: [] });
    using database = new Database(file);
    expect(database.query("SELECT name FROM sqlite_schema WHERE name = 'filler'").all()).toEqual([]);
    expect(database.query("SELECT count(*) AS blocks FROM block_times").get()).toEqual({ blocks: 2 });
  });
});
