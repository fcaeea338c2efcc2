import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fake } from "../../test/fake.ts";
import { temporaryFolder } from "../../test/harness.ts";
import { issueFirstToken, mintFirstToken } from "./first-token.ts";
import type { Token, TokenStore } from "./tokens.ts";

const writeNew = (path: string, text: string) => writeFileSync(path, text, { flag: "wx" });

test("after an unknown outcome the same token is issued, and one that another node was faster with is withdrawn", async () => {
  using folder = temporaryFolder();
  for (const winner of ["us", "another node"]) {
    const stored: Token[] = [];
    const addFirst = async (token: Token) => {
      stored.push(winner === "us" ? token : mintFirstToken().token);
      throw new Error("no response");
    };
    const tokens = fake<TokenStore>({ all: async () => stored, addFirst });
    const minted = mintFirstToken();
    const path = join(folder.path, winner);
    const issue = () => issueFirstToken({ tokens, delivery: { path, writeNew } }, minted);
    await expect(issue()).rejects.toThrow("no response");
    expect(await issue()).toEqual(winner === "us" ? { kind: "in-file", file: path } : undefined);
    expect(existsSync(path)).toBe(winner === "us");
  }
});

test("after a failure before the token was stored, the file is used again, and the file of someone else is left", async () => {
  using folder = temporaryFolder();
  const stored: Token[] = [];
  const outcomes = [new Error("unavailable"), undefined];
  const addFirst = async (token: Token) => {
    const failure = outcomes.shift();
    if (failure !== undefined) throw failure;
    stored.push(token);
  };
  const tokens = fake<TokenStore>({ all: async () => stored, addFirst });
  const minted = mintFirstToken();
  const path = join(folder.path, "first-token");
  const delivery = { path, writeNew };
  await expect(issueFirstToken({ tokens, delivery }, minted)).rejects.toThrow("unavailable");
  expect(await issueFirstToken({ tokens, delivery }, minted)).toEqual({ kind: "in-file", file: path });
  expect(await issueFirstToken({ tokens, delivery }, mintFirstToken())).toBeUndefined();
  expect(readFileSync(path, "utf8")).toBe(`${minted.secret}\n`);
});

test("a file that cannot be written is removed, so that the next start can create it", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "first-token");
  const durableFiles = join(import.meta.dir, "../storage/sqlite/durable-files.ts");
  const script = `(await import(${JSON.stringify(durableFiles)})).writeNew(${JSON.stringify(file)}, "secret")`;
  const command = `trap '' XFSZ; ulimit -f 0; exec "$0" -e "$1"`;
  const { stderr } = Bun.spawnSync(["sh", "-c", command, process.execPath, script]);
  expect(stderr.toString()).toContain("EFBIG");
  expect(existsSync(file)).toBe(false);
});
