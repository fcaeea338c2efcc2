import { describe, expect, test } from "bun:test";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import type { Exchange } from "../src/http/exchange.ts";
import { Feed } from "../src/operator/feed.ts";
import { openStore } from "../src/storage/open-store.ts";
import { eventually, operatorToken, post, startTestService, temporaryFolder } from "./harness.ts";

type Store = Awaited<ReturnType<typeof openStore>>;

type AddPlants = (count: number, name?: string) => Promise<void>;

const exportsMax = 8;
const longName = "x".repeat(60_000);

async function withStore(use: (store: Store, addPlants: AddPlants) => Promise<void>) {
  using folder = temporaryFolder();
  const database = join(folder.path, "plants.db");
  await using store = await openStore({ database, databasePassword: undefined, allowUnsafeDatabase: false });
  let id = 0n;
  await use(store, async (count, name = longName) => {
    const batch = Array.from({ length: count }, () => ({
      plant: { id: ++id, name, tag: undefined },
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
  test("ends when its token is revoked, and makes room for another", async () => {
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

  test("sends no plant after a newer one, even if more arrive while a flood is read", async () => {
    await withStore(async (store, addPlants) => {
      let started = false;
      let flooding = false;
      // Another 120 plants are stored after the first read of the newest plants, or of the end of the store.
      const archive = new Proxy(store.archive, {
        get(target, method) {
          const read = Reflect.get(target, method) as (...parameters: unknown[]) => Promise<unknown>;
          return async (...parameters: unknown[]) => {
            const result = await read.apply(target, parameters);
            if (method === "total") started = true;
            if (flooding && (method === "page" || parameters[0] === undefined)) {
              flooding = false;
              await addPlants(120, "short");
            }
            return result;
          };
        },
      });
      const ids: number[] = [];
      let counted = 0;
      const stream = {
        open: true,
        unreadBytes: 0,
        async write(text: string) {
          const data = /^data: (.*)$/m.exec(text)?.[1];
          if (data === undefined) return;
          const { plants, more } = JSON.parse(data) as { plants: { id: string }[]; more: number };
          ids.push(...plants.map(({ id }) => Number(id)));
          counted += plants.length + more;
        },
        onEnd() {},
      };
      new Feed(archive).watch({ stream: () => stream } as unknown as Exchange, () => true);
      await eventually(async () => started);
      flooding = true;
      await addPlants(300, "short");
      await eventually(async () => counted >= 420);
      await addPlants(1, "short");
      await eventually(async () => ids.includes(421));
      stream.onEnd();
      expect(ids).toEqual(ids.toSorted((a, b) => a - b));
      expect(counted).toBe(421);
    });
  }, 30_000);
});
