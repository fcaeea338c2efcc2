import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { operatorToken, rawPost, sendRaw, startTestService, temporaryFolder } from "./harness.ts";
import { runInProcess } from "./terminal.ts";

const certificate = (name: string) => join(import.meta.dir, "certificates", name);
const server = { cert: certificate("localhost.pem"), key: certificate("localhost.key") };
// Signed by itself, so that it is its own authority.
const client = { cert: certificate("client.pem"), key: certificate("client.key") };
const flags = { "tls-cert": server.cert, "tls-key": server.key };
const expiresAtMs = Date.parse("2126-10-22T04:49:13Z");
const dayMs = 86_400_000;
const trusted = { ca: readFileSync(certificate("ca.pem"), "utf8"), servername: "localhost" };
const folder = temporaryFolder();
afterAll(() => folder[Symbol.dispose]());

test("both listeners speak HTTP/1.1 over TLS 1.3 or 1.2, and nothing older, and ready says whom it does not trust", async () => {
  await using running = await startTestService(flags);
  for (const port of [running.port, portOf(running.operatorUrl)]) {
    const socket = await handshake(port, { ALPNProtocols: ["h2", "http/1.1"] });
    expect([socket.getProtocol(), socket.alpnProtocol]).toEqual(["TLSv1.3", "http/1.1"]);
    socket.destroy();
    const older = await handshake(port, { maxVersion: "TLSv1.2" });
    expect(older.getProtocol()).toBe("TLSv1.2");
    older.destroy();
    const tooOld = handshake(port, { minVersion: "TLSv1.1", maxVersion: "TLSv1.1" });
    await expect(tooOld).rejects.toThrow(/PROTOCOL_VERSION/);
    await expect(handshake(port, { ALPNProtocols: ["h2"] })).rejects.toThrow(/APPLICATION_PROTOCOL/);
  }
  const { code, err } = await runInProcess(["ready", "--url", running.url]);
  expect([code, err]).toEqual([1, expect.stringContaining("its certificate is not trusted (unable to")]);
  expect(err).toContain("Set NODE_EXTRA_CA_CERTS");
});

test("with --tls-client-ca, a client of the public listener needs a certificate of the authority, and its token as well", async () => {
  await using running = await startTestService({ ...flags, "tls-client-ca": client.cert });
  const target = { port: running.port, ...trusted };
  const livez = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";
  // In TLS 1.3 a client is done before the server has seen its certificate.
  for (const other of [{}, read(server)]) {
    const answer = await sendRaw({ ...target, ...other }, [livez]).catch(() => ({ text: "" }));
    expect(answer.text).toBe("");
  }
  // A resumed session sends no certificate, and could so outlive it.
  for (const maxVersion of ["TLSv1.2", "TLSv1.3"] as const) {
    const first = await handshake(running.port, { ...read(client), maxVersion });
    first.write(livez);
    await once(first, "data");
    const session = first.getSession();
    first.destroy();
    const resuming = sendRaw({ ...target, ...{ maxVersion, session } }, [livez]);
    expect((await resuming.catch(() => ({ text: "" }))).text).toBe("");
  }
  const anonymous = "POST /plants HTTP/1.1\r\nHost: localhost\r\n\r\n";
  const requests = anonymous + rawPost('{"id":1,"name":"over TLS"}');
  const { text } = await sendRaw({ ...target, ...read(client) }, [requests]);
  expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 401", "HTTP/1.1 200"]);
  // Probes, Prometheus and browsers use the operator listener, which needs none.
  const operator = await sendRaw({ ...target, port: portOf(running.operatorUrl) }, [livez]);
  expect(operator.text).toStartWith("HTTP/1.1 200 ");
});

describe("the expiry of the certificate", () => {
  test.each([
    [31, []],
    [29, [expect.stringContaining("the TLS certificate expires in less than 30 days")]],
    [-1, [expect.stringContaining("the TLS certificate has expired")]],
  ])("%i days before it is logged once at the start, if it is near", async (days, warnings) => {
    using _ = spyOn(Date, "now").mockReturnValue(expiresAtMs - days * dayMs);
    await using running = await startTestService(flags);
    const logged = running.logged.map((line) => JSON.parse(line));
    const about = logged.filter(({ message }) => message.includes("certificate"));
    expect(about.map(({ message }) => message)).toEqual(warnings);
    for (const line of about)
      expect(line).toMatchObject({ level: "warn", "tls.server.not_after": "2126-10-22T04:49:13.000Z" });
  });

  test("is a metric", async () => {
    await using running = await startTestService(flags);
    const target = { port: portOf(running.operatorUrl), ...trusted };
    const request = `GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${operatorToken}\r\n\r\n`;
    const { text } = await sendRaw(target, [request]);
    const line = `plant_store_tls_certificate_expiry_timestamp_seconds ${expiresAtMs / 1000}\n`;
    expect(text).toContain(line);
  });
});

describe("the command line", () => {
  test.each([
    ["a key without a certificate", ["--tls-key", server.key], "--tls-key needs --tls-cert"],
    ["a certificate without a key", ["--tls-cert", server.cert], "--tls-cert needs --tls-key"],
    ["a client authority without both", ["--tls-client-ca", client.cert], "--tls-client-ca needs"],
    ["a missing file", pair("/nowhere/cert.pem", server.key), "cannot be read: ENOENT"],
    ["a file that is no key", pair(server.cert, server.cert), "holds no private key"],
    ["a key of another certificate", pair(server.cert, client.key), "does not belong to"],
  ])("refuses %s", async (_, args, message) => {
    const { code, err } = await runInProcess(["serve", "--database", join(folder.path, "none.db"), ...args]);
    expect([code, err]).toEqual([2, expect.stringContaining(message)]);
  });

  test("greets with the address it is bound to, and warns of plain text beyond loopback", async () => {
    const greet = (...args: readonly string[]) =>
      runInProcess(["serve", "--database", join(folder.path, "p.db"), "--listen", "0.0.0.0:0", ...args], {
        stopSignal: async () => "test",
      });
    const plain = await greet();
    expect(plain.out).toMatch(/listening on +0\.0\.0\.0:\d+ and 127\.0\.0\.1:\d+\n/);
    expect(plain.err.match(/in plain text.*?"plant_store\.address":"[^"]*"/g)).toEqual([
      expect.stringMatching(/"plant_store\.address":"0\.0\.0\.0:\d+"/),
    ]);
    const encrypted = await greet(...pair(server.cert, server.key));
    expect(encrypted.out).toMatch(/plants +https:\/\/127\.0\.0\.1:\d+\/plants\n/);
    expect(encrypted.err).not.toContain("in plain text");
  });
});

function pair(cert: string, key: string): string[] {
  return ["--tls-cert", cert, "--tls-key", key];
}

/** As PEM texts. */
function read({ cert, key }: typeof client): typeof client {
  return { cert: readFileSync(cert, "utf8"), key: readFileSync(key, "utf8") };
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

function handshake(port: number, options: ConnectionOptions): Promise<TLSSocket> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ port, host: "127.0.0.1", ...trusted, ...options }, () =>
      resolve(socket),
    );
    socket.on("error", reject);
  });
}
