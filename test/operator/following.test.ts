// Following new plants with a cursor, through GET /api/plants?after=.
import { afterAll, describe, expect, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import type { FollowPageJson } from "../../src/operator/responses.ts";
import { memoize } from "../support/memoize.ts";
import { operatorGet } from "../support/operator-requests.ts";
import { post } from "../support/post-plants.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

const list = (service: TestService, query: string) =>
  operatorGet<FollowPageJson>(service, `/api/plants?${query}`);

async function addPlants(service: TestService, ids: readonly number[]): Promise<void> {
  const sent = ids.map((id) => post(service.url, JSON.stringify({ id, name: `n${id}`, tag: "t" })));
  expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(ids.map(() => 200));
}

test("after=0 begins with the first plant, and every cursor continues with what was stored after it", async () => {
  await using service = await startTestService();
  const { next: ofEmpty } = await list(service, "after=now");
  expect(await list(service, `after=${ofEmpty}`)).toMatchObject({ plants: [], next: ofEmpty });

  await addPlants(service, [2]);
  await addPlants(service, [1]);
  expect((await post(service.url, '{"id":-9007199254740993,"name":"exact"}')).status).toBe(200);
  const { plants, next } = await list(service, `after=${ofEmpty}`);
  expect(plants).toMatchObject([{ id: "2" }, { id: "1" }, { id: "-9007199254740993" }]);
  expect((await list(service, "after=0")).plants).toEqual(plants);

  const { next: ofNow } = await list(service, "after=now");
  await addPlants(service, [4]);
  for (const cursor of [next, ofNow, plants[2]?.cursor])
    expect((await list(service, `after=${cursor}`)).plants).toMatchObject([{ id: "4" }]);
  const page = await list(service, "after=0&limit=1");
  expect(page).toMatchObject({ plants: [{ id: "2", cursor: page.next }], more: true });
});

describe("41001 is sent for a cursor", () => {
  const made = temporaryFolder();
  afterAll(() => made[Symbol.dispose]());

  /** Cursors of a store, a backup from before its last plant, and what was restored from that. Each test copies what it opens. */
  const makeStores = memoize(async () => {
    const path = (name: string) => join(made.path, name);
    await using service = await startTestService({ database: path("plants.db") });
    await addPlants(service, [1, 2]);
    const backUp = ["backup", path("put-back.db"), "--database", path("plants.db")];
    expect((await runInProcess(backUp)).code).toBe(0);
    await addPlants(service, [3]);
    const restore = ["restore", path("put-back.db"), "--database", path("restored.db")];
    expect((await runInProcess(restore)).code).toBe(0);
    const { next, plants } = await list(service, "after=0");
    return [next, plants[2]?.cursor];
  });

  const refusal = { error: 41001, message: expect.stringContaining("Start again with after=0") };

  test.each([
    ["from before a restore", "restored.db"],
    ["from before a backup was put back", "put-back.db"],
    ["of another store", "another.db"],
  ])("%s, whether the store has fewer plants than the cursor's or as many", async (_, name) => {
    using folder = temporaryFolder();
    const cursors = await makeStores();
    cpSync(made.path, folder.path, { recursive: true });
    await using service = await startTestService({ database: join(folder.path, name) });
    for (const ids of [[], [11, 12, 13]]) {
      await addPlants(service, ids);
      for (const cursor of cursors)
        expect(await operatorGet(service, `/api/plants?after=${cursor}`)).toEqual(refusal);
    }
  });
});
