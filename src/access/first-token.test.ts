import { expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { temporaryFolder } from "../../test/harness.ts";
import { issueFirstToken, mintFirstToken } from "./first-token.ts";
import type { Token, TokenStore } from "./tokens.ts";

const writeNew = (file: string, text: string) => writeFileSync(file, text, { flag: "wx" });

test("after an unknown outcome the same token is issued, and one that another node was faster with is withdrawn", async () => {
  using folder = temporaryFolder();
  for (const winner of ["us", "another node"]) {
    const stored: Pick<Token, "digest">[] = [];
    const addFirst = async (token: Token) => {
      stored.push(winner === "us" ? token : mintFirstToken().token);
      throw new Error("no response");
    };
    const tokens = { all: async () => stored, addFirst } as unknown as TokenStore;
    const minted = mintFirstToken();
    const delivery = { file: join(folder.path, winner) };
    const issue = () => issueFirstToken({ tokens, delivery, writeNew }, minted);
    await expect(issue()).rejects.toThrow("no response");
    expect(await issue()).toEqual(winner === "us" ? delivery : undefined);
    expect(existsSync(delivery.file)).toBe(winner === "us");
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
  const tokens = { all: async () => stored, addFirst } as unknown as TokenStore;
  const minted = mintFirstToken();
  const delivery = { file: join(folder.path, "first-token") };
  await expect(issueFirstToken({ tokens, delivery, writeNew }, minted)).rejects.toThrow("unavailable");
  expect(await issueFirstToken({ tokens, delivery, writeNew }, minted)).toEqual(delivery);
  expect(await issueFirstToken({ tokens, delivery, writeNew }, mintFirstToken())).toBeUndefined();
  expect(readFileSync(delivery.file, "utf8")).toBe(`${minted.secret}\n`);
});

test("a file that cannot be written is removed, so that the next start can create it", () => {
  using folder = temporaryFolder();
  const file = join(folder.path, "first-token");
  const durableFiles = join(import.meta.dir, "../storage/sqlite/durable-files.ts");
  const script = `(await import(${JSON.stringify(durableFiles)})).writeNew(${JSON.stringify(file)}, "secret")`;
  const command = `trap '' XFSZ; ulimit -f 0; exec "$0" -e "$1"`;
  const { stderr } = Bun.spawnSync(["sh", "-c", command, process.execPath, script]);
  expect([stderr.toString(), existsSync(file)]).toEqual([expect.stringContaining("EFBIG"), false]);
});
