import { describe, expect, test } from "bun:test";
import { copyFileSync } from "node:fs";
import { join } from "node:path";
import { serve } from "./command.ts";
import {
  accessToken,
  eventually,
  operatorToken,
  post,
  startTestService,
  type TestService,
  temporaryFolder,
} from "./harness.ts";
import { canRecordSyncs, recordSyncs } from "./syncs.ts";
import { runInProcess } from "./terminal.ts";

interface Row {
  readonly cursor: string;
  readonly id: string;
  readonly name: string;
}

type Addresses = Pick<TestService, "url" | "operatorUrl">;

const asOperator = { Authorization: `Bearer ${operatorToken}` };

function changes(service: Addresses, query: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(`${service.operatorUrl}/api/changes?${query}`, { headers: { ...asOperator, ...headers } });
}

/** All rows up to the last that is stored. */
async function stored(service: Addresses, after = "0"): Promise<Row[]> {
  return rowsOf(await (await changes(service, `after=${after}&follow=no`)).text());
}

function rowsOf(text: string): Row[] {
  return text
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Row);
}

async function addPlants(service: Addresses, ids: readonly number[]): Promise<void> {
  const sent = ids.map((id) => post(service.url, JSON.stringify({ id, name: `n${id}`, tag: "t" })));
  expect((await Promise.all(sent)).map(({ status }) => status)).toEqual(ids.map(() => 200));
}

/** Reads a stream as it comes. */
function reading(response: Response): {
  text(): string;
  readonly ended: Promise<void>;
  cancel(): Promise<void>;
} {
  let text = "";
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  const read = async () => {
    for (;;) {
      const next = await reader?.read();
      if (next === undefined || next.done) return;
      text += decoder.decode(next.value, { stream: true });
    }
  };
  return { text: () => text, ended: read().catch(() => {}), cancel: async () => reader?.cancel() };
}

const numbers = (count: number, from = 0) => Array.from({ length: count }, (_, index) => from + index);

describe("the change feed", () => {
  test("has every plant in the order of storing, with id, name, tag, time and sender, and resumes after a cursor", async () => {
    await using running = await startTestService();
    expect(await stored(running)).toEqual([]);
    await post(running.url, '{"id":-9223372036854775808,"name":"first \\u0085","tag":""}');
    await post(running.url, '{"id":9223372036854775807,"name":"second"}');
    await post(running.url, '{"id":5,"name":"third"}');
    const rows = await stored(running);
    expect(rows).toEqual([
      {
        cursor: expect.stringMatching(/^[0-9a-f]{16}\.1\.[0-9a-z]+$/),
        id: "-9223372036854775808",
        name: "first \u0085",
        tag: "",
        createdAt: expect.stringMatching(/^20.*Z$/),
        createdBy: "preset-access",
      },
      expect.objectContaining({ id: "9223372036854775807", name: "second" }),
      expect.objectContaining({ id: "5" }),
    ] as never);
    expect(await stored(running, rows[0]?.cursor)).toEqual(rows.slice(1));
    expect(await stored(running, rows[2]?.cursor)).toEqual([]);
    expect(rowsOf(await (await changes(running, "limit=2")).text())).toEqual(rows.slice(0, 2));
  });

  test("has no gap and no repetition while plants are created concurrently", async () => {
    await using running = await startTestService();
    const following = reading(await changes(running, "after=0&limit=1500"));
    for (let from = 0; from < 1500; from += 100) await addPlants(running, numbers(100, from));
    await following.ended;
    const rows = rowsOf(following.text());
    expect(rows.map(({ cursor }) => Number(cursor.split(".")[1]))).toEqual(numbers(1500, 1));
    expect(rows.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(numbers(1500));
  });

  test("is server-sent events too, which resume by Last-Event-ID", async () => {
    await using running = await startTestService();
    await addPlants(running, [1]);
    const events = { Accept: "text/event-stream" };
    const response = await changes(running, "after=0", events);
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    const first = reading(response);
    await eventually(() => first.text().includes('"id":"1"'));
    const [, cursor = "", data = "{}"] = /^id: (\S+)\ndata: (.*)\n\n$/.exec(first.text()) ?? [];
    expect(JSON.parse(data)).toMatchObject({ cursor, id: "1", name: "n1" });
    await first.cancel();
    await addPlants(running, [2]);
    const second = reading(await changes(running, "after=0", { ...events, "Last-Event-ID": cursor }));
    await eventually(() => second.text().includes('"id":"2"'));
    await addPlants(running, [3]);
    await eventually(() => second.text().includes('"id":"3"'));
    expect(second.text()).not.toContain('"id":"1"');
    await second.cancel();
  });

  test("refuses the cursors of a store that was restored, and of a file that was put back", async () => {
    using folder = temporaryFolder();
    const [file, backup] = [join(folder.path, "plants.db"), join(folder.path, "backup.db")];
    let cursor = "";
    {
      await using running = await startTestService({}, file);
      await addPlants(running, [1, 2]);
      expect((await runInProcess(["backup", backup, "--database", file])).code).toBe(0);
      await addPlants(running, [3]);
      cursor = (await stored(running)).at(-1)?.cursor ?? "";
    }
    const restored = join(folder.path, "restored.db");
    expect((await runInProcess(["restore", backup, "--database", restored])).code).toBe(0);
    const putBack = join(folder.path, "put-back.db");
    copyFileSync(backup, putBack);
    for (const path of [restored, putBack]) {
      await using running = await startTestService({}, path);
      for (const ids of [[], [13]]) {
        await addPlants(running, ids);
        const response = await changes(running, `after=${cursor}`);
        expect([response.status, await response.json()]).toEqual([
          410,
          { error: 41001, message: expect.stringContaining("Start again with after=0") },
        ]);
      }
    }
  }, 30_000);

  test("refuses what is not a cursor, and callers without the scope", async () => {
    await using running = await startTestService();
    for (const query of ["after=1", "after=", "after=x.1.2", "limit=0", "follow=maybe", "before=1"])
      expect([query, (await changes(running, query)).status]).toEqual([query, 400]);
    const asClient = { Authorization: "Bearer test-access-token-0123456789" };
    expect((await changes(running, "after=0", asClient)).status).toBe(403);
  });

  test("ends when the token is revoked, and with the service", async () => {
    await using running = await startTestService();
    const created = await fetch(`${running.operatorUrl}/api/tokens`, {
      method: "POST",
      headers: asOperator,
      body: JSON.stringify({ name: "follower", scopes: ["operator:read"] }),
    });
    const { token, secret } = (await created.json()) as { token: { id: string }; secret: string };
    const revoked = reading(await changes(running, "after=0", { Authorization: `Bearer ${secret}` }));
    const other = reading(await changes(running, "after=0"));
    await fetch(`${running.operatorUrl}/api/tokens/${token.id}/revoke`, {
      method: "POST",
      headers: asOperator,
    });
    await revoked.ended;
    await running.service.close("test", 0);
    await other.ended;
  });

  test("has room for sixteen clients, and for another once one has left", async () => {
    await using running = await startTestService();
    const clients = await Promise.all(Array.from({ length: 16 }, () => changes(running, "after=0")));
    expect(clients.map(({ status }) => status)).toEqual(clients.map(() => 200));
    const [first] = clients.map(reading);
    const status = async () => (await changes(running, "follow=no")).status;
    expect(await status()).toBe(503);
    await first?.cancel();
    await eventually(async () => (await status()) === 200);
  });

  test("is in the audit trail when it is read from the beginning", async () => {
    await using running = await startTestService();
    await addPlants(running, [1]);
    const [row] = await stored(running);
    await stored(running, row?.cursor);
    const audit = await fetch(`${running.operatorUrl}/api/audit`, { headers: asOperator });
    const { entries } = (await audit.json()) as { entries: { action: string; detail: string }[] };
    expect(entries.filter(({ action }) => action === "export.started")).toMatchObject([
      { detail: "change feed, ndjson" },
    ]);
  });

  test.skipIf(!canRecordSyncs)("never has a plant whose fsync failed", async () => {
    using folder = temporaryFolder();
    const syncs = recordSyncs(folder.path, "-wal");
    const environment = { PLANT_STORE_ACCESS_TOKEN: accessToken, PLANT_STORE_OPERATOR_TOKEN: operatorToken };
    await using service = await serve(["--database", join(folder.path, "plants.db")], {
      environment: { ...environment, ...syncs.environment },
    });
    const following = reading(await changes(service, "after=0"));
    await addPlants(service, [1]);
    await eventually(() => following.text().includes('"id":"1"'));
    syncs.failFromNowOn();
    expect((await post(service.url, '{"id":2,"name":"not synced"}')).status).toBe(503);
    await following.ended;
    expect(rowsOf(following.text()).map(({ id }) => id)).toEqual(["1"]);
  });
});
