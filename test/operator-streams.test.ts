import { describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { Call } from "../src/operator/call.ts";
import { Exports } from "../src/operator/exports.ts";
import { Feed } from "../src/operator/feed.ts";
import { openStore } from "../src/storage/open-store.ts";
import { eventually, operatorToken, post, startTestService, temporaryFolder } from "./harness.ts";

type Store = Awaited<ReturnType<typeof openStore>>;

const exportsMax = 8;
const longName = "x".repeat(60_000);

/** A call whose token ends, and whose connection is cut, as the test says and sees. */
function operatorCall() {
  const seen = { allowed: true, cut: 0 };
  const call: Call = {
    request: new Request("http://localhost/"),
    query: new URLSearchParams(),
    named: "",
    caller: { name: "test", scopes: ["operator"], expiresAtMs: undefined },
    stillAllowed: () => seen.allowed,
    cut: () => {
      seen.cut++;
    },
  };
  return { call, seen };
}

async function withStore(use: (store: Store, addPlants: (count: number) => Promise<void>) => Promise<void>) {
  using folder = temporaryFolder();
  const database = join(folder.path, "plants.db");
  await using store = await openStore({ database, databasePassword: undefined, allowUnsafeDatabase: false });
  let id = 0n;
  await use(store, async (count) => {
    const batch = Array.from({ length: count }, () => ({
      plant: { id: ++id, name: longName, tag: undefined },
      createdBy: "test",
    }));
    await store.plants.create(batch, Date.now());
  });
}

/** A client that asks for an export and reads nothing of it. */
async function unreadExport(
  operatorUrl: string,
  secret: string,
): Promise<{ socket: Socket; closed: boolean }> {
  const client = {
    socket: connect({ port: Number(new URL(operatorUrl).port), host: "127.0.0.1" }),
    closed: false,
  };
  client.socket.on("error", () => {});
  client.socket.on("close", () => {
    client.closed = true;
  });
  await new Promise((resolve) => client.socket.once("connect", resolve));
  client.socket.pause();
  client.socket.write(
    `GET /api/export HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${secret}\r\n\r\n`,
  );
  return client;
}

describe("an export that nobody reads", () => {
  test("ends when its token is revoked, and leaves its place to another", async () => {
    await using running = await startTestService();
    for (let id = 0; id < 150; id += 50) {
      const ids = Array.from({ length: 50 }, (_, index) => id + index);
      await Promise.all(ids.map((each) => post(running.url, JSON.stringify({ id: each, name: longName }))));
    }
    const headers = { Authorization: `Bearer ${operatorToken}` };
    const created = await fetch(`${running.operatorUrl}/api/tokens`, {
      method: "POST",
      headers,
      body: JSON.stringify({ name: "reader", scopes: ["operator"] }),
    });
    const { token, secret } = (await created.json()) as { token: { id: string }; secret: string };
    const clients = await Promise.all(
      Array.from({ length: exportsMax }, () => unreadExport(running.operatorUrl, secret)),
    );
    const exported = async () => {
      const response = await fetch(`${running.operatorUrl}/api/export`, { headers });
      await response.arrayBuffer();
      return response.status;
    };
    await eventually(async () => (await exported()) === 503);
    await fetch(`${running.operatorUrl}/api/tokens/${token.id}/revoke`, { method: "POST", headers });
    await eventually(async () => (await exported()) === 200, 2000);
    // Bun closes the connections a few seconds later; only who reads notices.
    await Bun.sleep(4500);
    for (const { socket } of clients) socket.resume();
    await eventually(() => clients.every(({ closed }) => closed), 5000);
  }, 30_000);

  test("is cut off once it has not been read for a minute, and one that is read goes on", async () => {
    await withStore(async (store, addPlants) => {
      await addPlants(30);
      let nowMs = 0;
      const exports = new Exports(store.archive, () => nowMs);
      const unread = operatorCall();
      const read = operatorCall();
      await exports.straight(unread.call);
      const reader = ((await exports.straight(read.call)).body ?? new ReadableStream()).getReader();
      for (let minutes = 0; minutes < 3; minutes++) {
        nowMs += 50_000;
        expect((await reader.read()).value?.length).toBeGreaterThan(0);
        await Bun.sleep(600);
      }
      expect([unread.seen.cut, read.seen.cut]).toEqual([1, 0]);
      nowMs += 70_000;
      await eventually(() => read.seen.cut === 1);
      await expect(reader.read()).rejects.toThrow("the client does not read");
    });
  });
});

describe("a feed", () => {
  test("whose client does not read is cut off, and what waits for it is dropped", async () => {
    await withStore(async (store, addPlants) => {
      const feed = new Feed(store.archive);
      const { call, seen } = operatorCall();
      const { body } = await feed.watch(call);
      for (let rounds = 0; rounds < 30 && seen.cut === 0; rounds++) {
        await addPlants(4);
        await Bun.sleep(300);
      }
      expect(seen.cut).toBe(1);
      await expect((body ?? new ReadableStream()).getReader().read()).rejects.toThrow(
        "the client does not read",
      );
      feed.close();
    });
  }, 30_000);

  test("ends, and its connection with it, when its token does", async () => {
    await withStore(async (store) => {
      const feed = new Feed(store.archive);
      const { call, seen } = operatorCall();
      const { body } = await feed.watch(call);
      seen.allowed = false;
      await eventually(() => seen.cut === 1);
      expect(await new Response(body).text()).toStartWith(":");
      feed.close();
    });
  });
});
