// More connections than the limit, from someone without a token: clients still get in.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import {
  type AttackText,
  createWithNewJwt,
  forgedJwts,
  livez,
  type Provider,
  serveWithin,
  slowBodies,
  unknownKeys,
  whoAmI,
} from "../support/attacks.ts";
import { shellArguments, start, untilListening } from "../support/command.ts";
import { eventually } from "../support/eventually.ts";
import { KeptConnections, RunningFlood, statusFrom } from "../support/flood.ts";
import { startProvider } from "../support/identity-provider.ts";
import { lacks } from "../support/lacks.ts";
import { rawPost } from "../support/raw-http.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { accessToken, bearer, bothTokensEnvironment } from "../support/tokens.ts";

// Which allow 52 connections on the public listener and 8 on the operator's.
const descriptors = 120;
const requests = 10;
const client = "127.0.0.1";
const attacker = "127.0.0.2";
const createRequest = (id: number) => rawPost(`{"id":${id},"name":"n"}`);

interface Attack {
  readonly text: (provider: Provider) => AttackText | Promise<AttackText>;
  readonly connections?: number;
  readonly addresses?: readonly string[];
  readonly providerHangs?: boolean;
  readonly isOnOperator?: boolean;
}

const manyAddresses = Array.from({ length: 40 }, (_, host) => `127.0.1.${host + 1}`);
const forged = (provider: Provider) => forgedJwts(provider, 5);
const unknown = (provider: Provider) => unknownKeys(provider, 3);
const attacks: [what: string, attack: Attack][] = [
  ["forged JWTs from 40 addresses", { text: forged, addresses: manyAddresses }],
  ["forged JWTs on the operator listener", { text: forged, isOnOperator: true, connections: 20 }],
  ["JWTs of unknown keys while the provider hangs", { text: unknown, providerHangs: true }],
  ["slow bodies with a valid token", { text: slowBodies }],
];

describe.skipIf(lacks("/proc", process.platform !== "linux"))("more connections than the limit, with", () => {
  test.each(attacks)("%s, keep no client out", async (_, attack) => {
    using folder = temporaryFolder();
    await using provider = await startProvider();
    await using service = await serveWithin(descriptors, folder.path, join(folder.path, "p.db"), provider);
    const isOnOperator = attack.isOnOperator === true;
    const port = Number(new URL(isOnOperator ? service.operatorUrl : service.url).port);
    await eventually(
      async () => (await statusFrom(client, port, await createWithNewJwt(provider, -1))) === "200",
    );
    const newJwts: string[] = [];
    for (let number = 1; number <= requests; number++)
      newJwts.push(await createWithNewJwt(provider, -1 - number));
    if (attack.providerHangs === true) provider.hang();
    const request = (id: number) => (isOnOperator ? whoAmI : createRequest(id));
    using kept = await KeptConnections.open(client, port, 2, request(1000));

    const { connections = 80, addresses = [attacker] } = attack;
    using flood = new RunningFlood({ ...(await attack.text(provider)), port, connections, addresses });
    await eventually(() => flood.opened > connections, "connections closed for others");
    const refused: string[] = [];
    for (let number = 1; number <= requests; number++) {
      const sent = { request: request(number), probe: livez, "new JWT": newJwts[number - 1] ?? "" };
      for (const [what, text] of Object.entries(sent)) {
        const status = await statusFrom(client, port, text);
        if (status !== "200") refused.push(`${what} ${number}: ${status}`);
      }
      kept.use();
    }
    expect(refused).toEqual([]);
    expect(kept.closed).toBe(0);
  });

  // Bun closes no TLS socket whose client does not close it too, unless it is told to.
  test("idle TLS connections that their clients never close, keep no client out", async () => {
    using folder = temporaryFolder();
    const tls = ["--tls-cert", certificate("localhost.pem"), "--tls-key", certificate("localhost.key")];
    const args = ["serve", "--database", join(folder.path, "p.db"), ...tls];
    const shell = shellArguments(`ulimit -n ${descriptors}; exec "$@"`, args);
    const started = start("sh", shell, { folder: folder.path, environment: bothTokensEnvironment });
    await using service = await untilListening(started);
    const port = Number(new URL(service.url).port);
    using idle = new DisposableStack();
    for (let number = 1; number <= 3 * descriptors; number++) {
      const socket = await connectAndKeep(port);
      idle.defer(() => socket.terminate());
    }
    const statuses: number[] = [];
    for (let id = 1; id <= requests; id++) {
      const response = await fetch(new URL("/plants", service.url), {
        method: "POST",
        headers: { ...bearer(accessToken), "Content-Type": "application/json" },
        body: `{"id":${id},"name":"n"}`,
        tls: { rejectUnauthorized: false },
      });
      statuses.push(response.status);
    }
    expect(statuses).toEqual(Array(requests).fill(200));
    expect(service.err()).toContain("the connection limit is reached");
  });
});

/** Opens a TLS connection, waits for the response to a request, and does not close it when the server does. */
async function connectAndKeep(port: number): Promise<Bun.Socket> {
  const responded = Promise.withResolvers<void>();
  const socket = await Bun.connect({
    hostname: client,
    port,
    allowHalfOpen: true,
    tls: { rejectUnauthorized: false },
    socket: {
      handshake(opened) {
        opened.write(livez);
      },
      data: () => responded.resolve(),
      // Without this, Bun closes its side as well.
      end() {},
      error: () => responded.reject(new Error("no connection")),
      close: () => responded.reject(new Error("no response")),
    },
  });
  await responded.promise;
  return socket;
}

function certificate(name: string): string {
  return join(import.meta.dir, "../certificates", name);
}
