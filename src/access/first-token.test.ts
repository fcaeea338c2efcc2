import { expect, test } from "bun:test";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { start } from "../../test/support/command.ts";
import { fake } from "../../test/support/fake.ts";
import { lacksProgram } from "../../test/support/lacks.ts";
import { temporaryFolder } from "../../test/support/temporary-folder.ts";
import { issueFirstToken, mintFirstToken } from "./first-token.ts";
import type { Token, TokenStore } from "./tokens.ts";

type Minted = ReturnType<typeof mintFirstToken>;

const writeNew = (path: string, text: string) => writeFileSync(path, text, { flag: "wx" });

/** Issues it twice: the first time the store has this token afterwards, and does not respond. */
async function issueAfterUnknownOutcome(minted: Minted, storedToken: Token, path: string) {
  const stored: Token[] = [];
  const addFirst = async () => {
    stored.push(storedToken);
    throw new Error("no response");
  };
  const tokens = fake<TokenStore>({ all: async () => stored, addFirst });
  const issue = () => issueFirstToken({ tokens, delivery: { path, writeNew } }, minted);
  await expect(issue()).rejects.toThrow("no response");
  return issue();
}

test("after an unknown outcome the same token is issued, or none if another node was faster", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "first-token");
  const minted = mintFirstToken();
  expect(await issueAfterUnknownOutcome(minted, mintFirstToken().token, path)).toBeUndefined();
  expect(existsSync(path)).toBe(false);
  const issued = await issueAfterUnknownOutcome(minted, minted.token, path);
  expect(issued).toEqual({ kind: "in-file", file: path });
  expect(readFileSync(path, "utf8")).toBe(`${minted.secret}\n`);
});

test("after a failure before the token was stored, the file is used again", async () => {
  using folder = temporaryFolder();
  const stored: Token[] = [];
  let attempts = 0;
  const addFirst = async (token: Token) => {
    attempts++;
    if (attempts === 1) throw new Error("unavailable");
    stored.push(token);
  };
  const tokens = fake<TokenStore>({ all: async () => stored, addFirst });
  const minted = mintFirstToken();
  const path = join(folder.path, "first-token");
  const delivery = { path, writeNew };
  await expect(issueFirstToken({ tokens, delivery }, minted)).rejects.toThrow("unavailable");
  expect(await issueFirstToken({ tokens, delivery }, minted)).toEqual({ kind: "in-file", file: path });
  expect(readFileSync(path, "utf8")).toBe(`${minted.secret}\n`);
});

test("the file of a token that is stored already is left", async () => {
  using folder = temporaryFolder();
  const stored = mintFirstToken();
  const tokens = fake<TokenStore>({ all: async () => [stored.token] });
  const path = join(folder.path, "first-token");
  writeFileSync(path, `${stored.secret}\n`);
  const delivery = { path, writeNew };
  expect(await issueFirstToken({ tokens, delivery }, mintFirstToken())).toBeUndefined();
  expect(readFileSync(path, "utf8")).toBe(`${stored.secret}\n`);
});

test("a file that cannot be created is reported with the reason", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "nowhere", "first-token");
  const tokens = fake<TokenStore>({ all: async () => [] });
  const issued = await issueFirstToken({ tokens, delivery: { path, writeNew } }, mintFirstToken());
  expect(issued).toMatchObject({
    kind: "not-delivered",
    problem: expect.stringContaining(
      `${path} cannot be created for one: no such file or directory. Create one:`,
    ),
  });
});

test("a file that cannot be written is removed, so that the next start can create it", async () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "first-token");
  const durableFiles = join(import.meta.dir, "../storage/sqlite/data-file/durable-files.ts");
  const script = `(await import(${JSON.stringify(durableFiles)})).writeNew(${JSON.stringify(file)}, "secret")`;
  const command = `trap '' XFSZ; ulimit -f 0; exec "$0" -e "$1"`;
  const { err } = await start("sh", ["-c", command, process.execPath, script]).ended;
  expect(err).toContain("EFBIG");
  expect(existsSync(file)).toBe(false);
});

test.skipIf(lacksProgram("mkfifo"))("a named pipe in place of the token's file is not read", async () => {
  using folder = temporaryFolder();
  const path = join(folder.path, "first-token");
  spawnSync("mkfifo", [path]);
  const tokens = fake<TokenStore>({ all: async () => [] });
  const issued = await issueFirstToken({ tokens, delivery: { path, writeNew } }, mintFirstToken());
  expect(issued?.kind).toBe("not-delivered");
});
