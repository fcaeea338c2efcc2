// The disk stalls: an fsync of the WAL hangs, and nothing is acknowledged or read that it may not have stored.
import { describe, expect, test } from "bun:test";
import type { Serving } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { useFolderForEachTest } from "../support/folder-for-each-test.ts";
import { mintToken, operatorGet } from "../support/operator-requests.ts";
import { post, statusOf } from "../support/post-plants.ts";
import { lacksSyncShim, recordSyncs, serveRecorded } from "../support/syncs.ts";

const folder = useFolderForEachTest();

describe.skipIf(lacksSyncShim())("while an fsync of the WAL hangs", () => {
  // Faults, not waits for something: how long the disk stalls. After the first one, fsyncs are in the background for ten seconds.
  const backgroundStallMs = 300;
  // The service reports one of a second or more.
  const reportedStallMs = 1010;

  /** How often the service has logged that line. */
  const timesLogged = (service: Serving, line: string): number => service.err().split(line).length - 1;
  const stalling = "the disk is stalling; creates wait until it recovers";

  /** A service with two plants, and with a disk that stalled for this long; its next fsync hangs, of a plant with the id 1. */
  async function serveHanging(firstStallMs: number) {
    const syncs = recordSyncs(folder.path, "-wal", "hang");
    await using cleanUp = new AsyncDisposableStack();
    const service = cleanUp.use(await serveRecorded(folder.dataFile, syncs));
    const createWhileHanging = async (plant: string) => {
      const before = syncs.paths().length;
      syncs.injectFault();
      const response = post(service.url, plant);
      await eventually(() => syncs.paths().length > before);
      return { response };
    };
    // The first transaction restarts the WAL, whose header SQLite fsyncs itself.
    expect((await post(service.url, '{"id":7,"name":"ivy"}')).status).toBe(200);
    const stalled = await createWhileHanging('{"id":0,"name":"moss"}');
    await Bun.sleep(firstStallMs);
    syncs.removeFault();
    expect((await stalled.response).status).toBe(200);
    // On a slow disk the first fsync was in the background too, and the service has said so.
    const reportsBefore = timesLogged(service, stalling);
    const { response: created } = await createWhileHanging('{"id":1,"name":"fern"}');
    // Whoever has not waited for the response must not leave it to another test.
    cleanUp.defer(async () => {
      syncs.removeFault();
      await Promise.allSettled([created]);
    });
    const owned = cleanUp.move();
    return {
      service,
      created,
      reportsOfHang: () => timesLogged(service, stalling) - reportsBefore,
      /** The disk goes on, and the plant is stored. */
      async recover() {
        syncs.removeFault();
        expect((await created).status).toBe(200);
      },
      [Symbol.asyncDispose]: () => owned.disposeAsync(),
    };
  }

  test("nothing is acknowledged, or read, that a power loss could undo", async () => {
    await using hanging = await serveHanging(backgroundStallMs);
    const { service, created } = hanging;
    const ended: string[] = [];
    const ends = (what: string, work: Promise<unknown>) => work.then(() => ended.push(what));
    const all = [
      ends("create", created),
      ends("replay", post(service.url, '{"id":1,"name":"fern"}')),
      ends("conflict", post(service.url, '{"id":1,"name":"oak"}')),
      ends("list", operatorGet(service, "/api/plants")),
      ends("tokens", operatorGet(service, "/api/tokens")),
      ends("audit trail", operatorGet(service, "/api/audit")),
    ];
    await eventually(() => hanging.reportsOfHang() > 0);
    expect(ended).toEqual([]);
    await hanging.recover();
    await Promise.all(all);
    expect(await operatorGet<object>(service, "/api/plants")).toMatchObject({
      plants: [{ id: "1" }, { id: "0" }, { id: "7" }],
    });
  });

  test("the service is live and not ready until the disk goes on, and logs each stall once", async () => {
    await using hanging = await serveHanging(reportedStallMs);
    const { service } = hanging;
    // It waits for the disk too, besides the plant.
    const token = mintToken(service, { name: "greenhouse", scopes: ["plants:create"] });
    await eventually(() => hanging.reportsOfHang() > 0);
    expect(await statusOf(service.url, "/livez")).toBe(200);
    expect(await statusOf(service.url, "/readyz")).toBe(503);
    await hanging.recover();
    expect(await statusOf(service.url, "/readyz")).toBe(200);
    await token;
    const timesEnded = () => timesLogged(service, "the disk stalled; creates waited");
    await eventually(() => timesEnded() >= 2);
    expect(timesEnded()).toBe(2);
    expect(hanging.reportsOfHang()).toBe(1);
  });
});
