import { afterAll, expect, test } from "bun:test";
import type { LineOutcome } from "../src/operator/responses.ts";
import {
  eventually,
  operatorPost,
  operatorToken,
  type RawPiece,
  sendRaw,
  startTestService,
  storedPlants,
  untilContinue,
} from "./harness.ts";

const running = await startTestService();
afterAll(() => running[Symbol.asyncDispose]());

const bothScopes = ["plants:create", "operator:read"];
const importer = await createToken("importer");

async function createToken(name: string, scopes = bothScopes, service = running): Promise<string> {
  return (await operatorPost(service, "/api/tokens", { name, scopes })).secret;
}

async function send(body: string | Buffer<ArrayBuffer>, token = importer, query = "", service = running) {
  const headers = { Authorization: `Bearer ${token}` };
  const url = `${service.operatorUrl}/api/imports${query}`;
  const response = await fetch(url, { method: "POST", headers, body });
  return { status: response.status, ...((await response.json()) as { outcomes: LineOutcome[] }) };
}

/** Sends to a service with another setting, as a token of its own. */
async function startLimited(flags: Record<string, string>) {
  const service = await startTestService(flags);
  const token = await createToken("limited", bothScopes, service);
  return { ...service, send: (body: string) => send(body, token, "", service) };
}

const line = (id: number, name = "Fern") => `{"id":${id},"name":"${name}"}\n`;

test("each line is stored as POST /plants would, under the token's name, and has its outcome", async () => {
  const notUtf8 = Buffer.concat([Buffer.from('{"id":3,"name":"'), Buffer.from([0xff]), Buffer.from('"}\n')]);
  const lines = [
    line(1),
    line(1),
    line(1, "Oak"),
    "\n",
    "{not json\n",
    line(2, "x".repeat(65_536)),
    notUtf8,
    line(4),
  ];
  const { outcomes } = await send(
    Buffer.concat(lines.map((text) => Buffer.from(text)).concat(Buffer.from(line(5).trim()))),
  );
  const refused = (error: number, message: string) => ({ error, message: expect.stringContaining(message) });
  expect(outcomes).toEqual([
    "created",
    "replayed",
    refused(40020, "already belongs to a plant with a different name"),
    refused(40001, "empty"),
    refused(40002, "at line 1, column 2"),
    refused(41301, "longer than 65536 bytes"),
    refused(40003, "not UTF-8"),
    "created",
    "created",
  ]);
  const stored = storedPlants(running.database).map(({ id, created_by }) => [id, created_by]);
  expect(stored).toEqual([1n, 4n, 5n].map((id) => [id, "importer"]));
});

test("a body has the outcomes of its first 1,000 lines, and a limit of its own", async () => {
  const { outcomes } = await send(line(41).repeat(1200));
  expect(outcomes).toEqual(["created", ...Array(999).fill("replayed")]);
  const message = "The body is over the limit of 1048576 bytes.";
  expect(await send(Buffer.alloc(1024 * 1024 + 1, 0x20))).toMatchObject({ error: 41301, message });
});

test("an import needs both scopes, and a named file is in the audit trail", async () => {
  for (const [has, lacks] of [
    ["operator", "plants:create"],
    ["plants:create", "operator:read"],
  ] as const) {
    const answer = await send(line(51), await createToken(`only ${has}`, [has]), "?file=x.ndjson");
    expect(answer).toMatchObject({ error: 40301, message: `The token lacks the scope ${lacks}.` });
  }
  await send(line(51), importer, "?file=audited.ndjson");
  await send(line(52));
  const headers = { Authorization: `Bearer ${operatorToken}` };
  const audit = (await (await fetch(`${running.operatorUrl}/api/audit`, { headers })).json()) as {
    entries: { action: string }[];
  };
  const imports = audit.entries.filter(({ action }) => action === "import.started");
  expect(imports).toMatchObject([{ subject: "audited.ndjson", actor: "importer" }]);
});

function finish(body: object, token = importer): Promise<Response> {
  const headers = { Authorization: `Bearer ${token}` };
  const url = `${running.operatorUrl}/api/imports/finished`;
  return fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
}

test("the end of an import is in the audit trail, with what was counted", async () => {
  const response = await finish({ file: "counted.csv", created: 1200, replayed: 3, refused: 0 });
  expect(response.status).toBe(200);
  const headers = { Authorization: `Bearer ${operatorToken}` };
  const audit = await fetch(`${running.operatorUrl}/api/audit?limit=1`, { headers });
  expect(await audit.json()).toMatchObject({
    entries: [
      {
        action: "import.finished",
        actor: "importer",
        subject: "counted.csv",
        detail: "1200 created, 3 already stored, 0 refused",
      },
    ],
  });
});

test.each([
  ["without a file", { created: 1, replayed: 0, refused: 0 }, 'Field "file" is missing'],
  ["without a count", { file: "x", created: 1, replayed: 0 }, 'Field "refused" must be a whole number'],
  ["with a fraction", { file: "x", created: 1.5, replayed: 0, refused: 0 }, 'Field "created" must be'],
  ["with a negative count", { file: "x", created: 1, replayed: -1, refused: 0 }, 'Field "replayed" must be'],
])("the end of an import %s is refused", async (_, body, message) => {
  const response = await finish(body);
  expect(await response.json()).toEqual({ error: 40031, message: expect.stringContaining(message) });
});

test.each([
  ["operator", "plants:create"],
  ["plants:create", "operator:read"],
])("the end of an import cannot be recorded with the scope %s alone", async (has, lacks) => {
  const token = await createToken(`finishes with ${has}`, [has]);
  const response = await finish({ file: "x", created: 1, replayed: 0, refused: 0 }, token);
  expect(await response.json()).toEqual({ error: 40301, message: `The token lacks the scope ${lacks}.` });
});

test("an import waits for the rate limit, if that is not for long", async () => {
  await using limited = await startLimited({ "rate-limit": "20/s" });
  const { outcomes } = await limited.send(Array.from({ length: 25 }, (_, row) => line(row)).join(""));
  // The burst is 20.
  expect(outcomes.length).toBeGreaterThan(20);
});

test("an import that would wait for long reports what it stored, and then the limit", async () => {
  await using limited = await startLimited({ "rate-limit": "2/h" });
  const rows = line(1) + line(2) + line(3);
  expect((await limited.send(rows)).outcomes).toEqual(["created", "created"]);
  expect(await limited.send(rows)).toMatchObject({ status: 429, error: 42901 });
});

test("of more lines than may be pending, the first are stored", async () => {
  await using limited = await startLimited({ "max-pending": "1" });
  const { outcomes } = await limited.send(line(1) + line(2) + line(3));
  expect(outcomes[0]).toBe("created");
  expect(storedPlants(limited.database).length).toBeGreaterThanOrEqual(outcomes.length);
});

// Each way in which a body may not arrive is tested on the wire; these are the ways in which the handler learns of it.
test.each<[which: string, error: number | undefined, ending: (token: string) => readonly RawPiece[]]>([
  ["whose client goes away", undefined, () => ['20\r\n{"id":1']],
  [
    "whose token is revoked meanwhile",
    40102,
    (id) => [() => operatorPost(running, `/api/tokens/${id}/revoke`), "0\r\n\r\n"],
  ],
])("uploads %s leave room for an import", async (_, error, ending) => {
  const port = Number(new URL(running.operatorUrl).port);
  const upload = async () => {
    const { token, secret } = await operatorPost(running, "/api/tokens", {
      name: crypto.randomUUID(),
      scopes: bothScopes,
    });
    const fields = `Host: localhost\r\nAuthorization: Bearer ${secret}\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked`;
    const head = `POST /api/imports HTTP/1.1\r\n${fields}\r\n\r\n`;
    const refused = (received: () => string) => eventually(() => received().includes(`{"error":${error},`));
    const pieces = [head, untilContinue, ...ending(token.id), ...(error === undefined ? [] : [refused])];
    await sendRaw(port, pieces);
  };
  // As many as may run at a time.
  await Promise.all(Array.from({ length: 4 }, upload));
  // The service may learn only later that a client has gone away.
  await eventually(async () => (await send("")).status === 200);
});

test("slow uploads of one token leave half of the imports to others", async () => {
  const secret = await createToken("slow uploader");
  const port = Number(new URL(running.operatorUrl).port);
  const fields = `Host: localhost\r\nAuthorization: Bearer ${secret}\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked`;
  const head = `POST /api/imports HTTP/1.1\r\n${fields}\r\n\r\n`;
  const upload = (meanwhile: () => Promise<unknown>) =>
    sendRaw(port, [head, untilContinue, meanwhile, "0\r\n\r\n"]);
  const message =
    "This token already has 2 imports running, and one token may have at most half of the 4. Try again when one has finished.";
  await upload(() =>
    upload(async () => {
      expect(await send(line(61), secret)).toEqual({ status: 503, error: 50301, message } as never);
      expect(await send(line(61))).toMatchObject({ status: 200 });
    }),
  );
});
