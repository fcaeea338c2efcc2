import { afterAll, describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Authority } from "./certificates.ts";
import { type Serving, serve } from "./command.ts";
import { accessToken, eventually, operatorToken, sendRaw, temporaryFolder } from "./harness.ts";
import { canRecordSyncs, recordSyncs } from "./syncs.ts";

// After which the service has started its standby.
const standbyMs = 6000;
// Only an fsync that is fast is waited for by the thread that answers.
const fastDisk = existsSync("/dev/shm") ? "/dev/shm" : tmpdir();
const data = mkdtempSync(join(fastDisk, "plant-store-"));
afterAll(() => rmSync(data, { recursive: true, force: true }));

describe.skipIf(!canRecordSyncs)("while the thread that answers requests hangs in an fsync", () => {
  test("another answers health checks on both listeners, and refuses everything else", async () => {
    using folder = temporaryFolder();
    const { cert, key } = new Authority(folder.path, "authority").issue("server");
    const [plain, secure] = [hangingDisk("http"), hangingDisk("https")];
    await using one = await start(plain);
    await using other = await start(secure, ["--tls-cert", cert, "--tls-key", key]);
    await Promise.all([createUntilInPlace(one, plain), createUntilInPlace(other, secure)]);
    await Promise.all([hang(one, plain), hang(other, secure)]);
  }, 40_000);
});

type HangingDisk = ReturnType<typeof hangingDisk>;

function hangingDisk(scheme: "http" | "https") {
  const folder = mkdtempSync(join(data, `${scheme}-`));
  return { ...recordSyncs(folder, "-wal", "hang"), scheme, file: join(folder, "plants.db") };
}

function start({ file, environment }: HangingDisk, flags: readonly string[] = []): Promise<Serving> {
  return serve(["--database", file, "--base-url", "https://example.org/garden", ...flags], {
    environment: {
      ...environment,
      PLANT_STORE_ACCESS_TOKEN: accessToken,
      PLANT_STORE_OPERATOR_TOKEN: operatorToken,
      PLANT_STORE_OPERATOR_LISTEN: "127.0.0.1:0",
    },
  });
}

/** Until there is a standby, and the thread that answers waits for each fsync itself. */
async function createUntilInPlace(service: Serving, disk: HangingDisk): Promise<void> {
  const startMs = performance.now();
  let id = 0;
  while (
    performance.now() - startMs < standbyMs ||
    disk.seen().at(-1)?.thread !== String(service.child.pid)
  ) {
    await Promise.all([create(service, disk, id++), create(service, disk, id++)]);
    await Bun.sleep(10);
  }
}

async function hang(service: Serving, disk: HangingDisk): Promise<void> {
  disk.failFromNowOn();
  const hanging = create(service, disk, -1);
  const [publicAddress, operatorAddress] = service.addresses;
  for (const base of [`${publicAddress}/garden`, operatorAddress].map((rest) => `${disk.scheme}://${rest}`)) {
    await eventually(async () => (await get(`${base}/livez`).catch(() => undefined))?.status === 200);
    for (let probe = 0; probe < 5; probe++) {
      expect(await (await get(`${base}/livez`)).json()).toEqual({ status: "live" });
      expect((await get(`${base}/readyz`)).status).toBe(503);
      expect((await get(`${base}/docs`)).status).toBe(503);
    }
  }
  const refused = await create(service, disk, -2);
  expect(refused.status).toBe(503);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect(refused.headers.get("connection")).toBe("close");
  expect(await refused.json()).toMatchObject({ error: 50302 });
  if (disk.scheme === "http") {
    const { text } = await sendRaw(Number(publicAddress?.split(":")[1]), ["not HTTP\r\n\r\n"], 500);
    expect(text).toStartWith("HTTP/1.1 400 ");
  }

  disk.failNoMore();
  expect((await hanging).status).toBe(200);
  await eventually(() => service.err().includes("the disk did not finish a write for a while"));
  const later = await Promise.all(
    Array.from({ length: 40 }, (_, index) => create(service, disk, -2 - index)),
  );
  expect(later.map(({ status }) => status)).toEqual(later.map(() => 200));
}

function create({ addresses }: Serving, { scheme }: HangingDisk, id: number): Promise<Response> {
  return fresh(`${scheme}://${addresses[0]}/garden/plants`, {
    method: "POST",
    headers: { Authorization: `Bearer ${accessToken}`, "Content-Type": "application/json" },
    body: JSON.stringify({ id, name: "fern" }),
  });
}

function get(url: string): Promise<Response> {
  return fresh(url, { signal: AbortSignal.timeout(1000) });
}

/** On a new connection, as a probe does: one that was accepted before waits for its thread. */
function fresh(url: string, options: RequestInit): Promise<Response> {
  return fetch(url, { ...options, keepalive: false, tls: { rejectUnauthorized: false } });
}
