import { afterAll, expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { start } from "../../test/support/command.ts";
import { fake } from "../../test/support/fake.ts";
import { lacksProgram } from "../../test/support/lacks.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { issueFirstToken, mintFirstToken } from "./first-token.ts";
import type { Token } from "./token.ts";
import type { TokenStore } from "./tokens.ts";

type MintedFirstToken = ReturnType<typeof mintFirstToken>;

const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

/** Issues a first token into that file. */
function issue(tokens: Partial<TokenStore>, path: string, minted = mintFirstToken()) {
  const writeNew = (file: string, text: string) => writeFileSync(file, text, { flag: "wx" });
  return issueFirstToken(
    { tokens: fake<TokenStore>(tokens), delivery: { path, writeNew }, databaseFlag: "" },
    minted,
  );
}

/** Issues it twice: the first time the store has this token afterwards, and does not respond. */
async function issueAfterUnknownOutcome(minted: MintedFirstToken, storedToken: Token, path: string) {
  const stored: Token[] = [];
  const addFirst = async () => {
    stored.push(storedToken);
    throw new Error("no response");
  };
  const tokens = { all: async () => stored, addFirst };
  await expect(issue(tokens, path, minted)).rejects.toThrow("no response");
  return issue(tokens, path, minted);
}

test("after an unknown outcome the same token is issued, or none if another node was faster", async () => {
  const path = folder.newPath("first-token");
  const minted = mintFirstToken();
  expect(await issueAfterUnknownOutcome(minted, mintFirstToken().token, path)).toBeUndefined();
  expect(existsSync(path)).toBe(false);
  const issued = await issueAfterUnknownOutcome(minted, minted.token, path);
  expect(issued).toEqual({ kind: "in-file", file: path });
  expect(readFileSync(path, "utf8")).toBe(`${minted.secret}\n`);
});

test("after a failure before the token was stored, the file is used again", async () => {
  const stored: Token[] = [];
  let attempts = 0;
  const addFirst = async (token: Token) => {
    attempts++;
    if (attempts === 1) throw new Error("unavailable");
    stored.push(token);
  };
  const tokens = { all: async () => stored, addFirst };
  const minted = mintFirstToken();
  const path = folder.newPath("first-token");
  await expect(issue(tokens, path, minted)).rejects.toThrow("unavailable");
  expect(await issue(tokens, path, minted)).toEqual({ kind: "in-file", file: path });
  expect(readFileSync(path, "utf8")).toBe(`${minted.secret}\n`);
});

test("the file of a token that is stored already is left", async () => {
  const stored = mintFirstToken();
  const path = folder.newPath("first-token");
  writeFileSync(path, `${stored.secret}\n`);
  expect(await issue({ all: async () => [stored.token] }, path)).toBeUndefined();
  expect(readFileSync(path, "utf8")).toBe(`${stored.secret}\n`);
});

test("a file that cannot be created is reported with the reason", async () => {
  const path = join(folder.path, "nowhere", "first-token");
  const reason = `${path} cannot be created for one: no such file or directory. Create one:`;
  expect(await issue({ all: async () => [] }, path)).toMatchObject({
    kind: "not-delivered",
    problem: expect.stringContaining(reason),
  });
});

test("a file that cannot be written is removed, so that the next start can create it", async () => {
  const file = folder.newPath("first-token");
  const durableFiles = join(import.meta.dir, "../storage/sqlite/data-file/durable-files.ts");
  const script = `(await import(${JSON.stringify(durableFiles)})).writeNew(${JSON.stringify(file)}, "secret")`;
  const command = `trap '' XFSZ; ulimit -f 0; exec "$0" -e "$1"`;
  const { err } = await start("sh", ["-c", command, process.execPath, script]).ended;
  expect(err).toContain("EFBIG");
  expect(existsSync(file)).toBe(false);
});

test.skipIf(lacksProgram("mkfifo"))("a named pipe in place of the token's file is not read", async () => {
  const path = folder.newPath("first-token");
  spawnSync("mkfifo", [path]);
  expect((await issue({ all: async () => [] }, path))?.kind).toBe("not-delivered");
});
