import { expect, test } from "bun:test";
import { fake } from "../../test/support/fake.ts";
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
