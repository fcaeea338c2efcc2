import { Database } from "bun:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { post, startTestService, temporaryFolder } from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const pageBytes = 4096;
const commands = {
  doctor: ["doctor"],
  list: ["list"],
  search: ["list", "--name", "no plant"],
  show: ["show", "700"],
  export: ["export"],
  audit: ["audit"],
  tokens: ["token", "list"],
  verify: ["verify"],
} as const;
type CommandName = keyof typeof commands;
const all = Object.keys(commands) as CommandName[];

interface Damage {
  readonly what: string;
  readonly harm: (sound: Buffer) => Uint8Array;
  readonly sentence: string;
  /** The commands that read what is damaged. */
  readonly failing: readonly CommandName[];
}

const malformed = "is damaged (database disk image is malformed); restore it from a backup.";
const damages: readonly Damage[] = [
  {
    what: "cut off in the middle",
    harm: (bytes) => bytes.subarray(0, Math.floor(bytes.length / pageBytes / 2) * pageBytes),
    sentence: malformed,
    failing: all,
  },
  {
    what: "cut off within its last page",
    harm: (bytes) => bytes.subarray(0, -1000),
    sentence: "bytes; restore it from a backup.",
    failing: all,
  },
  {
    what: "cut off within its header",
    harm: (bytes) => bytes.subarray(0, 50),
    sentence: malformed,
    failing: all,
  },
  {
    what: "that is not a database",
    harm: () => Buffer.from("Dear diary,\n".repeat(1000)),
    sentence: "is not a SQLite database; move it away or use another data file.",
    failing: all,
  },
  {
    what: "with a flipped header of its first page",
    harm: (bytes) => flip(bytes, 100),
    sentence: malformed,
    failing: all,
  },
  {
    what: "with a page of zeros at the root of its plants",
    harm: (bytes) => zero(bytes, pageOf("plants")),
    sentence: malformed,
    failing: ["doctor", "list", "search", "show", "export", "verify"],
  },
  {
    what: "with a flipped page header at the root of its plants",
    harm: (bytes) => flip(bytes, pageOf("plants")),
    sentence: malformed,
    failing: ["doctor", "list", "search", "show", "export", "verify"],
  },
  {
    what: "with a page of zeros among its plants",
    harm: (bytes) => zero(bytes, bytes.indexOf(nameOf(700))),
    sentence: malformed,
    failing: ["search", "show", "export", "verify"],
  },
  {
    what: "with a page of zeros at the root of its tokens",
    harm: (bytes) => zero(bytes, pageOf("tokens")),
    sentence: malformed,
    failing: ["doctor", "tokens", "verify"],
  },
  {
    what: "with a flipped page header at the root of its audit trail",
    harm: (bytes) => flip(bytes, pageOf("audit_trail")),
    sentence: malformed,
    failing: ["audit", "verify"],
  },
  {
    what: "with a plant whose name is not text",
    // In the record before the name, its type becomes that of a blob as long.
    harm: (bytes) => {
      const type = bytes.indexOf(nameOf(700)) - 6;
      bytes.writeUInt8(bytes.readUInt8(type) - 1, type);
      return bytes;
    },
    sentence: "cannot be read; restore it from a backup.",
    failing: ["show", "export", "verify"],
  },
];

const folder = temporaryFolder();
const file = join(folder.path, "plants.db");
let sound: Buffer;
let roots: ReadonlyMap<string, number>;

beforeAll(async () => {
  const service = await startTestService({}, file);
  for (let id = 0; id < 1500; id += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, more) =>
        post(service.url, JSON.stringify({ id: id + more, name: nameOf(id + more) })),
      ),
    );
  await service[Symbol.asyncDispose]();
  await runInProcess(["token", "create", "--name", "greenhouse", "--database", file]);
  using database = new Database(file);
  roots = new Map(
    database
      .query<{ name: string; page: number }, []>("SELECT name, rootpage AS page FROM sqlite_schema")
      .all()
      .map(({ name, page }) => [name, (page - 1) * pageBytes]),
  );
  database.close();
  sound = readFileSync(file);
});
afterAll(() => folder[Symbol.dispose]());

describe.each([...damages])("a data file $what", ({ harm, sentence, failing }) => {
  test.each(all)("is explained by %s in a sentence, if that reads the damage", async (name) => {
    writeFileSync(file, harm(Buffer.from(sound)));
    const { code, out, err } = await runInProcess([...commands[name], "--database", file]);
    expect(err).not.toContain("internal error");
    expect(out + err).not.toContain("    at ");
    expect(code).toBe(failing.includes(name) ? 1 : 0);
    if (code === 0) return;
    // These two report it themselves.
    if (name === "doctor") expect(out).toContain(sentence.replace(/\.$/, ""));
    else if (name === "verify") expect(err).toMatch(/is damaged|is not a SQLite database/);
    else expect(err.split("\n")).toEqual([expect.stringMatching(/^plant-store: .*\.$/), ""]);
    if (name !== "verify" && name !== "doctor") expect(err).toContain(sentence);
  });
});

function nameOf(id: number): string {
  return `The Plant ${id}, ${"green ".repeat(20)}`;
}

function pageOf(table: string): number {
  return roots.get(table) ?? 0;
}

/** The page with that byte. */
function zero(bytes: Buffer, at: number): Buffer {
  const page = at - (at % pageBytes);
  return bytes.fill(0, page, page + pageBytes);
}

function flip(bytes: Buffer, at: number): Buffer {
  for (let index = at; index < at + 8; index++) bytes[index] = ~(bytes[index] ?? 0) & 0xff;
  return bytes;
}
