import { describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { Exchange } from "../src/http/exchange.ts";
import { Feed } from "../src/operator/feed.ts";
import { openStore } from "../src/storage/open-store.ts";
import { eventually, operatorToken, post, startTestService, temporaryFolder } from "./harness.ts";

type Store = Awaited<ReturnType<typeof openStore>>;

const exportsMax = 8;
const longName = "x".repeat(60_000);

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
    for (const { socket } of clients) socket.resume();
    await eventually(() => clients.every(({ closed }) => closed), 5000);
  }, 30_000);
});

describe("a feed", () => {
  test("whose client does not read is aborted before much waits for it", async () => {
    await withStore(async (store, addPlants) => {
      let unreadBytes = 0;
      let aborted = false;
      const stream = {
        open: true,
        get unreadBytes() {
          return unreadBytes;
        },
        async write(text: string) {
          unreadBytes += text.length;
        },
        abort() {
          aborted = true;
          this.onEnd();
        },
        onEnd() {},
      };
      const feed = new Feed(store.archive);
      feed.watch({ stream: () => stream } as unknown as Exchange, () => true);
      for (let rounds = 0; rounds < 30 && !aborted; rounds++) {
        await addPlants(4);
        await Bun.sleep(300);
      }
      expect(aborted).toBe(true);
      expect(unreadBytes).toBeLessThan(1024 * 1024);
    });
  }, 30_000);
});
