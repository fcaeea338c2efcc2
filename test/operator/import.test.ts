// POST /api/imports, and the record of its end: lines of plants, each stored or refused by itself.
import { afterAll, describe, expect, test } from "bun:test";
import type { AuditPageJson, LineOutcome } from "../../src/operator/responses.ts";
import { eventually } from "../support/eventually.ts";
import { mintToken, operatorFetch, operatorGet, operatorPost } from "../support/operator-requests.ts";
import { type RawPiece, sendRaw, untilContinue } from "../support/raw-http.ts";
import { storedPlants } from "../support/stored-plants.ts";
import { startTestService, type TestService } from "../support/test-service.ts";

// The tests share a service: each has ids, and where it matters a token, of its own.
const service = await startTestService();
afterAll(() => service[Symbol.asyncDispose]());

const bothScopes = ["plants:create", "operator:read"];
const importer = await createToken("importer");

async function createToken(name: string, scopes = bothScopes, to = service): Promise<string> {
  return (await mintToken(to, { name, scopes })).secret;
}

async function send(body: string | Buffer<ArrayBuffer>, { token = importer, query = "", to = service } = {}) {
  const response = await operatorFetch(to, `/api/imports${query}`, { method: "POST", token, body });
  return { status: response.status, ...((await response.json()) as { outcomes: LineOutcome[] }) };
}

const finish = (body: object, token = importer) =>
  operatorPost(service, "/api/imports/finished", body, { token });

/** What the audit trail has of this caller, newest first. */
async function auditedOf(actor: string) {
  const { entries } = await operatorGet<AuditPageJson>(service, "/api/audit");
  return entries.filter((entry) => entry.actor === actor);
}

const line = (id: number, name = "Fern") => `{"id":${id},"name":"${name}"}\n`;

test("each line of an import is stored or refused as POST /plants would", async () => {
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
    // The last line may lack its line feed.
    line(5).trim(),
  ];
  const body = Buffer.concat(lines.map((text) => Buffer.from(text)));
  const { outcomes } = await send(body, { token: await createToken("line by line") });
  const refused = (error: number, message: string) => ({
    error,
    message: expect.stringContaining(message),
    reason: expect.any(String),
  });
  expect(outcomes).toEqual([
    "created",
    "replayed",
    refused(40020, "already belongs to a plant with a different name"),
    refused(40001, "empty"),
    { ...refused(40002, "at line 1, column 2"), position: { line: 1, column: 2 } },
    refused(41301, "longer than 65536 bytes"),
    refused(40003, "not UTF-8"),
    "created",
    "created",
  ]);
  const stored = storedPlants(service.database).filter(({ created_by }) => created_by === "line by line");
  expect(stored.map(({ id }) => id)).toEqual([1n, 4n, 5n]);
});

test("an import of more than 1,000 lines has the outcomes of the first 1,000", async () => {
  const { outcomes } = await send(line(41).repeat(1200));
  expect(outcomes).toEqual(["created", ...Array(999).fill("replayed")]);
});

test("an import over 1 MiB is refused", async () => {
  const message = "The body is over the limit of 1048576 bytes.";
  expect(await send(Buffer.alloc(1024 * 1024 + 1, 0x20))).toMatchObject({ error: 41301, message });
});

test("the audit trail has the start of an import whose file is named, and each end with what was counted", async () => {
  const token = await createToken("journey");
  await send(line(51), { token, query: "?file=plants.ndjson" });
  // A later part, which names no file.
  await send(line(52), { token });
  const file = "plants.csv";
  await finish({ file, end: "stopped", created: 5, replayed: 0, refused: 0 }, token);
  expect(await finish({ file, created: 1200, replayed: 3, refused: 0 }, token)).toEqual({});
  expect(await auditedOf("journey")).toMatchObject([
    { action: "import.finished", subject: file, detail: "1200 created, 3 already stored, 0 refused" },
    { action: "import.stopped", subject: file },
    { action: "import.started", subject: "plants.ndjson" },
  ]);
});

test.each([
  ["without a file", { file: undefined }, 'Field "file" is missing'],
  ["without a count", { refused: undefined }, 'Field "refused" is missing; expected an integer, 0 or more.'],
  ["with a fraction", { created: 1.5 }, "must be an integer, 0 or more, but is 1.5."],
  ["with a negative count", { replayed: -1 }, 'Field "replayed" must be'],
])("the end of an import %s is refused", async (_, wrong, message) => {
  const response = await finish({ file: "x", created: 1, replayed: 0, refused: 0, ...wrong });
  expect(response).toEqual({ error: 40031, message: expect.stringContaining(message) });
});

test.each([
  ["operator", "plants:create"],
  ["plants:create", "operator:read"],
])("a token with the scope %s alone can neither import nor record the end of it", async (has, lacks) => {
  const refusal = { error: 40301, message: `The token lacks the scope ${lacks}.` };
  const token = await createToken(`only ${has}`, [has]);
  expect(await send(line(53), { token, query: "?file=x.ndjson" })).toMatchObject(refusal);
  expect(await finish({ file: "x", created: 1, replayed: 0, refused: 0 }, token)).toEqual(refusal);
  expect(await auditedOf(`only ${has}`)).toEqual([]);
});

test("an import waits for the rate limit, if that is not for long", async () => {
  await using to = await startTestService({ "rate-limit": "20/s" });
  const token = await createToken("limited", bothScopes, to);
  const { outcomes } = await send(Array.from({ length: 25 }, (_, row) => line(row)).join(""), { token, to });
  // The burst is 20.
  expect(outcomes.length).toBeGreaterThan(20);
});

test("an import that would wait for long ends with what it stored, and is refused if that is nothing", async () => {
  await using to = await startTestService({ "rate-limit": "2/h" });
  const token = await createToken("limited", bothScopes, to);
  const { outcomes } = await send(line(1) + line(2) + line(3), { token, to });
  expect(outcomes).toEqual(["created", "created"]);
  expect(await send(line(3), { token, to })).toMatchObject({ status: 429, error: 42901 });
});

describe("uploads", () => {
  /** Sends the head of an import, and after it these pieces of its body. */
  const upload = (to: TestService, secret: string, pieces: readonly RawPiece[]) => {
    const fields = `Host: localhost\r\nAuthorization: Bearer ${secret}\r\nExpect: 100-continue\r\nTransfer-Encoding: chunked`;
    const head = `POST /api/imports HTTP/1.1\r\n${fields}\r\n\r\n`;
    return sendRaw(Number(new URL(to.operatorUrl).port), [head, untilContinue, ...pieces]);
  };

  // Each way in which a body may not arrive is tested on the wire; these are the ways in which the handler learns of it.
  test.each<[string, (service: TestService, tokenId: string) => RawPiece[]]>([
    ["whose client goes away", () => ['20\r\n{"id":1']],
    [
      "whose token is revoked meanwhile",
      (to, id) => [
        () => operatorPost(to, `/api/tokens/${id}/revoke`),
        "0\r\n\r\n",
        (received) => eventually(() => received().includes('{"error":40102,')),
      ],
    ],
  ])("%s leave room for an import", async (_, piecesOf) => {
    await using to = await startTestService();
    // As many as may run at a time.
    await Promise.all(
      ["one", "two", "three", "four"].map(async (name) => {
        const { token, secret } = await mintToken(to, { name, scopes: bothScopes });
        await upload(to, secret, piecesOf(to, token.id));
      }),
    );
    const token = await createToken("next", bothScopes, to);
    // The service may learn only later that a client has gone away.
    await eventually(async () => (await send("", { token, to })).status === 200);
  });
});
