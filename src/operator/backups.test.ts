import { expect, test } from "bun:test";
import { eventually } from "../../test/support/eventually.ts";
import { fake } from "../../test/support/fake.ts";
import type { AuditTrail } from "../access/audit.ts";
import type { Caller, Gate } from "../access/gate.ts";
import type { Exchange } from "../http/exchange.ts";
import type { DatedBackups } from "../plants/plant-backups.ts";
import type { Events } from "../telemetry/events.ts";
import { ActionRecorder } from "./action-recorder.ts";
import { backupRoutes } from "./backups.ts";
import type { BackupsJson } from "./responses.ts";

const name = "plants-2026-11-15T02-00-00-000Z.db";
const backup = { name, atMs: 0, bytes: 1, coveredPlants: 0, digest: null, verifiedAtMs: undefined };
const caller: Caller = { name: "operator", scopes: ["operator"], expiresAtMs: undefined };

/** Calls of the routes, with a folder whose verification the test drives. */
function routesOf(verify: DatedBackups["verify"]) {
  const folder = fake<DatedBackups>({
    folderPath: "/b",
    databasePath: "/d",
    list: async () => ({ backups: [backup], problem: undefined }),
    verify,
  });
  const actions = new ActionRecorder(fake<AuditTrail>({ record: async () => {} }));
  const routes = backupRoutes({ folder, unavailable: undefined }, actions, fake<Gate>({}), fake<Events>({}));
  return async (method: string, path: string): Promise<BackupsJson> => {
    const found = routes.find((route) => route.method === method && route.path === path);
    const bodies: BackupsJson[] = [];
    const exchange = fake<Exchange>({
      address: "127.0.0.1",
      parameter: name,
      receiveBody: async () => Buffer.alloc(0),
      refuseWhileDraining() {},
      respondJson: (value) => void bodies.push(value as BackupsJson),
    });
    await found?.handle(exchange, caller);
    return bodies[0] as BackupsJson;
  };
}

test("the progress of a verification has what it does and its share, and is gone at its end", async () => {
  const rows = { done: 0, total: 0 };
  const running = Promise.withResolvers<void>();
  const call = routesOf(async (_, onStep) => {
    onStep({
      doing: "checking the rows of",
      unit: "plants",
      done: () => rows.done,
      total: () => rows.total,
    });
    await running.promise;
    return { problems: [], warning: undefined, coveredPlants: 0, digest: null };
  });
  const list = () => call("GET", "/api/backups");

  const started = await call("POST", "/api/backups/{name}/verify");
  // There is no share before the total is known.
  expect(started.progress).toEqual({ doing: "checking the rows of", share: undefined });
  rows.total = 200;
  rows.done = 50;
  expect((await list()).progress?.share).toBe(0.25);
  running.resolve();
  await eventually(async () => (await list()).task === undefined);
  expect((await list()).progress).toBeUndefined();
});
