// TLS on both listeners: versions, client certificates, and the expiry of the certificate.
import { afterAll, describe, expect, test } from "bun:test";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ConnectionOptions, connect, type TLSSocket } from "node:tls";
import { dayMs } from "../../src/text/duration.ts";
import { stoppedWallClock } from "../support/clock.ts";
import { rawPost, sendRaw, type Target } from "../support/raw-http.ts";
import { temporaryFolder } from "../support/temporary-folder.ts";
import { runInProcess } from "../support/terminal.ts";
import { startTestService } from "../support/test-service.ts";
import { operatorToken } from "../support/tokens.ts";

const certificate = (name: string) => join(import.meta.dir, "../certificates", name);
const server = { cert: certificate("localhost.pem"), key: certificate("localhost.key") };
// Signed by itself, so that it is its own authority.
const client = { cert: certificate("client.pem"), key: certificate("client.key") };
const flags = { "tls-cert": server.cert, "tls-key": server.key };
const expiresAtMs = Date.parse("2126-10-22T04:49:13Z");
const trusted = { ca: readFileSync(certificate("ca.pem"), "utf8"), servername: "localhost" };
const folder = temporaryFolder();
const service = await startTestService(flags);
const withClientCa = await startTestService({ ...flags, "tls-client-ca": client.cert });
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await withClientCa[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

test.each(["url", "operatorUrl"] as const)(
  "the listener at %s speaks TLS 1.3 or 1.2, and HTTP/1.1 alone",
  async (listener) => {
    const port = portOf(service[listener]);
    const negotiate = async (options: ConnectionOptions) => {
      const socket = await handshake(port, options);
      const { alpnProtocol } = socket;
      const version = socket.getProtocol();
      socket.destroy();
      return { version, alpnProtocol };
    };
    expect(await negotiate({})).toMatchObject({ version: "TLSv1.3" });
    expect(await negotiate({ maxVersion: "TLSv1.2" })).toMatchObject({ version: "TLSv1.2" });
    const tooOld = negotiate({ minVersion: "TLSv1.1", maxVersion: "TLSv1.1" });
    await expect(tooOld).rejects.toThrow(/PROTOCOL_VERSION/);
    const both = await negotiate({ ALPNProtocols: ["h2", "http/1.1"] });
    expect(both).toMatchObject({ alpnProtocol: "http/1.1" });
    await expect(negotiate({ ALPNProtocols: ["h2"] })).rejects.toThrow(/APPLICATION_PROTOCOL/);
  },
);

test("ready says that it does not trust the certificate", async () => {
  const { code, err } = await runInProcess(["ready", "--url", service.url]);
  expect(code).toBe(1);
  expect(err).toContain("its certificate is not trusted (unable to");
  expect(err).toContain("Set NODE_EXTRA_CA_CERTS");
});

describe("with --tls-client-ca", () => {
  const livez = "GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n";

  const target: Target = { port: withClientCa.port, ...trusted };

  /** In TLS 1.3 a client is done before the server has seen its certificate: a refusal is a connection that ends. */
  async function responseTo(target: Target, request: string): Promise<string> {
    try {
      return (await sendRaw(target, [request])).text;
    } catch {
      return "";
    }
  }

  test("the public listener needs a certificate of the authority, and a token as well", async () => {
    expect(await responseTo(target, livez)).toBe("");
    expect(await responseTo({ ...target, ...read(server) }, livez)).toBe("");
    const anonymous = "POST /plants HTTP/1.1\r\nHost: localhost\r\n\r\n";
    const requests = anonymous + rawPost('{"id":1,"name":"over TLS"}');
    const text = await responseTo({ ...target, ...read(client) }, requests);
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(["HTTP/1.1 401", "HTTP/1.1 200"]);
    // Probes, Prometheus and browsers use the other one.
    const operatorTarget = { port: portOf(withClientCa.operatorUrl), ...trusted };
    expect(await responseTo(operatorTarget, livez)).toStartWith("HTTP/1.1 200 ");
  });

  // A resumed session sends no certificate, and could so outlive it.
  test.each(["TLSv1.2", "TLSv1.3"] as const)("no session of %s is resumed", async (maxVersion) => {
    const first = await handshake(withClientCa.port, { ...read(client), maxVersion });
    first.write(livez);
    await once(first, "data");
    const session = first.getSession();
    first.destroy();
    expect(await responseTo({ ...target, maxVersion, session }, livez)).toBe("");
  });
});

test("the expiry of the certificate is a metric, and is logged once at the start, from 30 days before it", async () => {
  const logsAboutIt = async (daysBefore: number) => {
    using _clock = stoppedWallClock(expiresAtMs - daysBefore * dayMs);
    await using started = await startTestService(flags);
    const logged = started.logged.map((line) => JSON.parse(line));
    return logged.filter(({ message }) => message.includes("certificate"));
  };
  const line = (message: string) => ({
    level: "warn",
    message: expect.stringContaining(message),
    "tls.server.not_after": "2126-10-22T04:49:13.000Z",
  });
  expect(await logsAboutIt(31)).toEqual([]);
  const isNear = "the TLS certificate expires in less than 30 days";
  expect(await logsAboutIt(29)).toMatchObject([line(isNear)]);
  expect(await logsAboutIt(-1)).toMatchObject([line("the TLS certificate has expired")]);

  const target = { port: portOf(service.operatorUrl), ...trusted };
  const request = `GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${operatorToken}\r\n\r\n`;
  const { text } = await sendRaw(target, [request]);
  const metric = "plant_store_tls_certificate_expiry_timestamp_seconds";
  expect(text).toContain(`${metric} ${expiresAtMs / 1000}\n`);
});

describe("the command line", () => {
  test.each([
    ["a key without a certificate", ["--tls-key", server.key], "--tls-key needs --tls-cert"],
    ["a certificate without a key", ["--tls-cert", server.cert], "--tls-cert needs --tls-key"],
    ["a client authority without both", ["--tls-client-ca", client.cert], "--tls-client-ca needs"],
    [
      "a missing file",
      pair("/nowhere/cert.pem", server.key),
      "/nowhere/cert.pem cannot be read: no such file or directory.",
    ],
    ["a file that is no key", pair(server.cert, server.cert), "holds no private key"],
    ["a key of another certificate", pair(server.cert, client.key), "does not belong to"],
  ])("refuses %s", async (_, args, message) => {
    const { code, err } = await runInProcess(["serve", "--database", join(folder.path, "none.db"), ...args]);
    expect(code).toBe(2);
    expect(err).toContain(message);
  });

  test("greets with the address beyond loopback, and warns of plain text there", async () => {
    const greet = (...args: string[]) => {
      const serve = ["serve", "--database", folder.newPath(), "--listen", "0.0.0.0:0", ...args];
      return runInProcess(serve, { waitForStopSignal: async () => "test" });
    };
    const plain = await greet();
    expect(plain.out).toMatch(/listening on +0\.0\.0\.0:\d+ and 127\.0\.0\.1:\d+\n/);
    expect(plain.err.match(/in plain text.*?"plant_store\.address":"[^"]*"/g)).toEqual([
      expect.stringMatching(/"plant_store\.address":"0\.0\.0\.0:\d+"/),
    ]);
    const overTls = await greet(...pair(server.cert, server.key));
    expect(overTls.out).toMatch(/plants +https:\/\/127\.0\.0\.1:\d+\/plants\n/);
    expect(overTls.err).not.toContain("in plain text");
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
