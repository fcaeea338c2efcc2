// A damaged data file: what each command and the service say about it, and that reading changes nothing.
import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { lastBackupFile } from "../../src/storage/sqlite/maintenance/backup-records.ts";
import { verify } from "../../src/storage/sqlite/maintenance/verify.ts";
import { SqliteStore } from "../../src/storage/sqlite/sqlite-store.ts";
import { openForWriting } from "../../src/storage/sqlite/writing/open-for-writing.ts";
import { commandLine, expectOneLine } from "../support/command.ts";
import { crashedStore, emptyingJournal } from "../support/crashed-store.ts";
import { lacksMounts } from "../support/lacks.ts";
import { storedPlants, testPlant } from "../support/stored-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";

const plants = 3000;
const pageBytes = 4096;
const folder = temporaryFolder();
const sound = join(folder.path, "sound.db");
let roots: ReadonlyMap<string, number>;

beforeAll(async () => {
  {
    await using store = new SqliteStore(sound);
    const plantsToStore = Array.from({ length: plants }, (_, id) => testPlant(id, nameOf(id), "green"));
    await store.plants.create(plantsToStore, 1000);
  }
  await runInProcess(["token", "create", "--name", "greenhouse", "--database", sound]);
  using database = new Database(sound);
  const rows = database
    .query<[string, number], []>(`SELECT name, (rootpage - 1) * ${pageBytes} FROM sqlite_schema`)
    .values();
  roots = new Map(rows as [string, number][]);
});
afterAll(() => folder[Symbol.dispose]());

function nameOf(id: number): string {
  return `The Plant ${id}, ${"green ".repeat(8)}`;
}

/** A copy of the valid file, changed directly by SQL. */
function changed(sql: string): string {
  const file = join(folder.path, "changed.db");
  copyFileSync(sound, file);
  using database = new Database(file);
  database.run(sql);
  return file;
}

const all = ["doctor", "list", "show 700", "export", "verify", "audit", "token list"];

test.each(["an earlier copy", "another store"])(
  "the WAL of %s is refused, and no file is changed",
  async (whose) => {
    using own = temporaryFolder();
    const file = join(own.path, "plants.db");
    await crashedStore(file, 3);
    const wal = readFileSync(`${file}-wal`);
    {
      await using store = new SqliteStore(file);
      await store.plants.create([testPlant(9, "later")], 1);
    }
    if (whose === "another store") copyFileSync(sound, file);
    const data = readFileSync(file);
    writeFileSync(`${file}-wal`, wal);
    expect((await runInProcess(["verify", "--database", file])).err).toContain("is not the WAL of");
    expect(() => openForWriting(file)).toThrow("is not the WAL of");
    expect(readFileSync(file).equals(data)).toBe(true);
    expect(readFileSync(`${file}-wal`).equals(wal)).toBe(true);
  },
);

const malformed = "is damaged (database disk image is malformed); restore it from a backup.";
// With the sentence about it, and the commands that read what is damaged.
const damages: [what: string, harm: (sound: Buffer) => Uint8Array, sentence: string, string[]][] = [
  ["cut off in the middle", (bytes) => bytes.subarray(0, 40 * pageBytes), malformed, all],
  [
    "cut off within its last page",
    (bytes) => bytes.subarray(0, -1000),
    "bytes; restore it from a backup.",
    all,
  ],
  [
    "that is not a database",
    () => Buffer.from("Dear diary,\n".repeat(1000)),
    "is not a SQLite database; name another file, or move it away.",
    all,
  ],
  [
    "with a page of zeros among its plants",
    (bytes) => zero(bytes, bytes.indexOf(nameOf(700))),
    malformed,
    ["show 700", "export", "verify"],
  ],
  [
    "whose index leads to another plant",
    // The id precedes the name in the table, and the one in the index differs then.
    (bytes) =>
      bytes.fill(0x7f, bytes.lastIndexOf(nameOf(plants - 1)) - 1, bytes.lastIndexOf(nameOf(plants - 1))),
    "its index does not lead to every plant; restore it from a backup.",
    ["doctor", "verify"],
  ],
  [
    "with a page of zeros at the root of its tokens",
    (bytes) => zero(bytes, roots.get("tokens") ?? 0),
    malformed,
    ["doctor", "token list", "verify"],
  ],
  [
    "with a page of zeros at the root of its audit trail",
    (bytes) => zero(bytes, roots.get("audit_trail") ?? 0),
    malformed,
    ["audit", "doctor", "verify"],
  ],
  [
    "with a plant whose name is not text",
    notText,
    "cannot be read; restore it from a backup.",
    ["show 700", "export", "verify"],
  ],
];

describe.each(damages)("a data file %s", (_, harm, sentence, failing) => {
  const file = join(folder.path, "damaged.db");
  beforeAll(() => writeFileSync(file, harm(readFileSync(sound))));

  test.each(all)("is explained by %s in a sentence, if that reads the damage", async (name) => {
    const { code, out, err } = await runInProcess([...name.split(" "), "--database", file]);
    expect(out + err).not.toMatch(/internal error| {4}at /);
    expect(code).toBe(failing.includes(name) ? 1 : 0);
    if (code === 0) return;
    // These two report it themselves.
    if (name === "doctor") expect(out).toContain(sentence.replace(/\.$/, ""));
    else if (name === "verify")
      expect(err).toMatch(
        /is damaged:\n(?: {2}.+\n)+Restore it from a backup, or check --database|is not a SQLite/,
      );
    else {
      expect(err).toContain(sentence);
      expect(err.split("\n")).toEqual([expect.stringMatching(/^plant-store: .*\.$/), ""]);
    }
  });

  if (failing.includes("doctor"))
    test("keeps the service from starting", () => {
      expect(() => openForWriting(file)).toThrow(sentence);
    });
});

/** The page with that byte. */
function zero(bytes: Buffer, at: number): Buffer {
  const page = at - (at % pageBytes);
  return bytes.fill(0, page, page + pageBytes);
}

/** One name becomes a blob, which no INSERT would accept. SQLite copies such a row unchanged. */
function notText(bytes: Buffer): Buffer {
  // The record's header, with the column types, precedes the first value, the id.
  const type = bytes.indexOf(nameOf(700)) - 6;
  bytes.writeUInt8(bytes.readUInt8(type) - 1, type);
  return bytes;
}

describe("verify", () => {
  test.each([
    ["a name", "UPDATE plants SET name = 'Other' WHERE seq = 1500", "names of block 1 (plants 1025 to 2048)"],
    ["a tag", "UPDATE plants SET tag = 'new' WHERE seq = 7", "tags of block 0 (plants 1 to 1024)"],
    ["a time", "UPDATE plants SET created_at_ms = 5 WHERE seq = 2048", "times of block 1"],
    ["a text", "UPDATE plants SET name = CAST(x'ff' AS TEXT) WHERE seq = 7", "id 6: its name is not text"],
    ["counts", "UPDATE block_tags SET plants = plants + 1 WHERE block = 1", "tags of block 1"],
    ["a summary", "DELETE FROM block_names WHERE block = 1", "1 summaries of names for 2 blocks"],
    ["the last plants", "DELETE FROM plants WHERE seq > 2000", "but the last plant is 2000"],
    ["others", "DELETE FROM plants WHERE seq IN (2500, 2501)", "2 of the plants 2049 to 3000 are missing"],
  ])("finds %s changed behind the service's back, and says where", async (_, sql, message) => {
    const { problems } = await verify(changed(sql));
    expect(problems.join("\n")).toContain(message);
  });
});

describe.skipIf(lacksMounts())("on read-only media", () => {
  const onReadOnly = (media: string, ...args: string[]) => {
    const [program, rest] = commandLine(args);
    const command = [program, ...rest].map((word) => `'${word}'`).join(" ");
    const script = `mount --bind '${media}' '${media}' && mount -o remount,ro,bind '${media}' && exec ${command}`;
    const { status, stdout, stderr } = spawnSync("unshare", ["-rm", "sh", "-c", script], {
      encoding: "utf8",
      env: { PATH: process.env["PATH"] ?? "" },
    });
    return { code: status, out: stdout, err: stderr };
  };

  test("a data file is verified, listed, exported, copied and backed up", async () => {
    const media = join(folder.path, "media, read only");
    mkdirSync(media);
    // A name with characters that are special in a URI.
    const file = join(media, "plants 100%?#.db");
    copyFileSync(sound, file);
    const onMedia = (...args: string[]) => onReadOnly(media, ...args, "--database", file);
    expect(onMedia("verify").err).toContain("3,000 plants checked: 2,048 against the digests");
    expect(onMedia("list", "--tag", "green", "--name", "plant 7,").out).toContain("The Plant 7,");
    expect(onMedia("export").out.trimEnd().split("\n")).toHaveLength(plants);
    const backup = join(folder.path, "from-media.db");
    expect(onMedia("backup", backup).code).toBe(0);
    expect(storedPlants(backup)).toEqual(storedPlants(sound));
    const copy = join(folder.path, "copied.db");
    expect(onReadOnly(media, "copy", "--from", file, "--to", copy).code).toBe(0);
  }, 30_000);

  test("a WAL that SQLite cannot read there is not ignored", async () => {
    const media = join(folder.path, "media-with-wal");
    mkdirSync(media);
    const file = join(media, "plants.db");
    await crashedStore(file, 1);
    const { code, err } = onReadOnly(media, "list", "--database", file);
    expect(code).toBe(1);
    expect(err).toContain("copy both files into another folder");
    expectOneLine(err);
  });
});

describe("commands that only read", () => {
  test("leave the WAL of a crashed service unchanged", async () => {
    const file = join(folder.path, "crashed.db");
    await crashedStore(file, 1, { nameOf: () => "in the WAL" });
    const wal = readFileSync(`${file}-wal`);
    expect((await runInProcess(["list", "--database", file])).out).toContain("in the WAL");
    expect((await runInProcess(["verify", "--database", file])).err).toContain(
      "no damage found. 1 plant checked",
    );
    expect(readFileSync(`${file}-wal`).equals(wal)).toBe(true);
  });

  test("leave no files next to a data file that no service has open", async () => {
    const place = join(folder.path, "alone");
    mkdirSync(place);
    copyFileSync(sound, join(place, "plants.db"));
    for (const command of ["list", "verify"])
      expect((await runInProcess([command, "--database", join(place, "plants.db")])).code).toBe(0);
    expect(readdirSync(place)).toEqual(["plants.db"]);
  });
});

describe("backup and restore", () => {
  test("a copy that fails SQLite's integrity check is neither kept as a backup nor restored", async () => {
    const file = join(folder.path, "unsound.db");
    writeFileSync(file, notText(readFileSync(sound)));
    const unsound = "The copy is damaged: non-TEXT value in plants.name";
    const backups = join(folder.path, "unsound-backups");
    mkdirSync(backups);
    for (const to of [join(backups, "backup.db"), backups, "-"])
      expect(await runInProcess(["backup", to, "--database", file])).toEqual({
        code: 1,
        out: "",
        err: `plant-store: ${unsound}.\n`,
      });
    expect(readdirSync(backups).filter((name) => !name.endsWith(".lock"))).toEqual([]);
    expect(existsSync(lastBackupFile(file))).toBe(false);
    const restored = join(folder.path, "unsound-restored.db");
    expect((await runInProcess(["restore", file, "--database", restored])).err).toContain(
      "The copy is damaged",
    );
    for (const path of [restored, `${restored}.partial`]) expect(existsSync(path)).toBe(false);
  });

  test.each(["-wal", "-journal"])(
    "a %s file beside the target of a restore is not overwritten",
    async (end) => {
      using own = temporaryFolder();
      const target = join(own.path, "restored.db");
      writeFileSync(target + end, emptyingJournal);
      const { err } = await runInProcess(["restore", sound, "--database", target]);
      expect(err).toContain(`${target}${end} already exists. With --replace, restore moves it`);
      expect(readFileSync(target + end).equals(emptyingJournal)).toBe(true);
    },
  );

  test("a rollback journal that an interrupted copy left does not empty a restored file", async () => {
    using own = temporaryFolder();
    const backup = join(own.path, "backup.db");
    const target = join(own.path, "restored.db");
    expect((await runInProcess(["backup", backup, "--database", sound])).code).toBe(0);
    writeFileSync(`${target}.partial-journal`, emptyingJournal);
    const { err } = await runInProcess(["restore", backup, "--database", target]);
    expect(err).toContain("3,000 plants");
    expect(storedPlants(target)).toEqual(storedPlants(sound));
  });
});
