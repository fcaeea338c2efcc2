import { expect, test } from "bun:test";
import { fake } from "../../test/support/fake.ts";
import type { Token } from "../access/token.ts";
import type { TokenStore } from "../access/tokens.ts";
import type { PlantArchive } from "../plants/plant-archive.ts";
import { copyStore } from "./copy-store.ts";
import type { ReadableStore, Store } from "./store.ts";

test("a copy that is stopped while it counts the plants copies nothing", async () => {
  const from = fake<ReadableStore>({
    archive: fake<PlantArchive>({ total: () => new Promise(() => {}) }),
  });
  const stopping = new AbortController();
  const reports = { onStep: () => {}, onFailed: () => {} };
  const copying = copyStore(from, fake<Store>({}), reports, stopping.signal);
  stopping.abort();
  expect(await copying).toMatchObject({ created: 0, tokens: 0, compared: 0 });
});

test("a copy that is stopped while it copies the tokens copies no further one", async () => {
  const tokens = ["a", "b", "c"].map((digest) => fake<Token>({ id: digest, name: digest, digest }));
  const from = fake<ReadableStore>({
    archive: fake<PlantArchive>({ total: async () => 0 }),
    tokens: fake<TokenStore>({ all: async () => tokens }),
  });
  const stopping = new AbortController();
  const copied: string[] = [];
  const addCopy = async ({ digest }: Token) => {
    copied.push(digest);
    stopping.abort();
  };
  const to = fake<Store>({ tokens: fake<TokenStore>({ all: async () => [], addCopy }) });
  const counts = await copyStore(from, to, { onStep: () => {}, onFailed: () => {} }, stopping.signal);
  expect(copied).toEqual(["a"]);
  expect(counts.tokens).toBe(1);
});
