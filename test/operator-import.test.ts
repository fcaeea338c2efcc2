import { afterAll, describe, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ImportedSlice } from "../src/console/api-shapes.ts";
import { plantStore } from "./command.ts";
import {
  accessToken,
  eventually,
  operatorPost,
  operatorToken,
  type RawPiece,
  sendRaw,
  startTestService,
  storedPlants,
  temporaryFolder,
  untilContinue,
} from "./harness.ts";

type Outcome = { readonly result: string; readonly message?: string; readonly row?: string } & {
  readonly [Name in "first" | "last" | "line" | "element" | "error"]?: number;
};

type Slice = Omit<ImportedSlice, "outcomes"> & {
  readonly status: number;
  readonly error?: number;
  readonly message?: string;
  readonly outcomes: Outcome[];
};

const folder = temporaryFolder();
let running = await startTestService();
afterAll(async () => {
  await running[Symbol.asyncDispose]();
  folder[Symbol.dispose]();
});

const bothScopes = ["plants:create", "operator:read"];
const importer = await createToken("importer");

async function createToken(name: string, scopes = bothScopes): Promise<string> {
  return (await operatorPost(running, "/api/tokens", { name, scopes })).secret;
}

/** Runs a part of a test against a service with other settings. */
async function withService(flags: Record<string, string>, run: () => Promise<void>): Promise<void> {
  const previous = running;
  await using other = await startTestService(flags);
  running = other;
  await run().finally(() => {
    running = previous;
  });
}

async function send(
  query: Record<string, string>,
  body: string | Buffer<ArrayBuffer>,
  token = importer,
): Promise<Slice> {
  const url = `${running.operatorUrl}/api/imports?${new URLSearchParams(query)}`;
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/octet-stream" };
  const response = await fetch(url, { method: "POST", headers, body });
  return { status: response.status, ...((await response.json()) as Omit<Slice, "status">) };
}

/** Sends a file as the console does, and returns the outcomes of all its slices, and why it ended early. */
async function importAll(name: string, file: Buffer, sliceBytes: number, token = importer) {
  const outcomes: Outcome[] = [];
  let query: Record<string, string> = { name };
  let header = Buffer.alloc(0);
  let bytes = sliceBytes;
  for (let offset = 0; ; ) {
    const part = file.subarray(offset, offset + bytes);
    const last = offset + part.length === file.length;
    const slice = await send({ ...query, last: String(last) }, Buffer.concat([header, part]), token);
    if (slice.status !== 200) return { outcomes, error: slice.error, failure: slice.message };
    outcomes.push(...slice.outcomes);
    if (slice.done) return { outcomes };
    if (slice.header !== undefined) header = Buffer.from(`${Buffer.from(slice.header, "base64")}\n`);
    bytes = slice.consumed === 0 ? 2 * bytes : sliceBytes;
    offset += slice.consumed;
    query = { name, cursor: slice.cursor };
  }
}

function countsOf(outcomes: Outcome[]) {
  const count = (result: string) =>
    outcomes
      .filter((outcome) => outcome.result === result)
      .reduce((sum, { first = 0, last = 0 }) => sum + last - first + 1, 0);
  return { created: count("created"), replayed: count("replayed"), refused: count("refused") };
}

const files: Record<string, string> = {
  "plants.ndjson": `\ufeff{"id": 1, "name": "Árbol"}\n\n{"id": 2, "name": "Two"}\r\n{"id": 1, "name": "Árbol"}\n{"id": 1, "name": "Other"}\n{"id": "x"}\n${"x".repeat(70_000)}\n{"id": 3, "name": "Three`,
  "plants.csv": `id,name,tag\n11,"two\nlines",x\n\n12,"a ""quoted"", name",\n12x,Elm,\n11,"other",x\n13,one\n15,Oak,\n`,
  "quote.csv": `id,name,tag\r\n16,Oak,\r\n\r\n17,"two\r\nlines"\r\n16,"other","never closed\r\n18,Oak,\r\n`,
  "spreadsheet.csv": 'id;name;tag\n231;Oak;tree\n232;"semi;colon";\n3,5;Elm;\n233;Fern;indoor\n',
  "plants.json": `[{"id": 21, "name": "One"},\n {"id": 22,\n  "name": 7}, {"id": 21, "name": "One"},\n{"id": 24, "name": "Four"}]  \n`,
  "comma.json": `[{"id": 25, "name": "One"},\n {"id": 22,\n  "name": 7}\n{"id": 26, "name": "Two"}]`,
  "long.json": `[{"id": 27, "name": "One"},\n{"id": 23, "name": "${"y".repeat(70_000)}"}, {"id": 28, "name": "Two"}]`,
  "cut.json": `[{"id": 29, "name": "One"},\n{"id": 30, "na`,
  "after.json": `[{"id": 34, "name": "One"}]\nmore`,
};

describe("a file sent in slices", () => {
  test.each(Object.entries(files))(
    "has the report of the command line, wherever %s is split",
    async (name, text) => {
      const path = join(folder.path, name);
      writeFileSync(path, text);
      const ran = await plantStore(["import", path, "--json", "--url", running.url], {
        environment: { PLANT_STORE_ACCESS_TOKEN: accessToken },
      });
      const report = JSON.parse(ran.out) as { refusals: { line: number }[]; failure?: string };
      for (const sliceBytes of [1_000_000, 97, 31]) {
        const { outcomes, error, failure } = await importAll(name, Buffer.from(text), sliceBytes);
        expect(error).toBe(report.failure === undefined ? undefined : 40031);
        expect(report.failure ?? "").toContain(failure ?? "");
        const refusals = outcomes
          .filter(({ result }) => result === "refused")
          .map(({ line, element, error, message }) => ({ line, element, error, message }));
        expect([sliceBytes, refusals]).toEqual([sliceBytes, report.refusals as typeof refusals]);
        const { created, replayed } = countsOf(outcomes);
        expect([created, replayed > 0]).toEqual([0, true]);
        const positions = outcomes.map(({ first, line, element }) => first ?? element ?? line ?? 0);
        expect(positions).toEqual(positions.toSorted((one, other) => one - other));
      }
    },
  );

  test("stores each plant once under the token's name, and returns a refused row byte for byte", async () => {
    const bytes = Buffer.concat([
      Buffer.from('{"id": 31, "name": "New"}\n{"id": 32, "name": "'),
      Buffer.from([0xff]),
      Buffer.from('"}\n'),
    ]);
    const { outcomes } = await importAll("new.ndjson", bytes, 1000);
    expect(outcomes[0]).toEqual({ result: "created", first: 1, last: 1 });
    expect(outcomes[1]).toMatchObject({ result: "refused", line: 2, error: 40003 });
    expect(Buffer.from(outcomes[1]?.row ?? "", "base64")).toEqual(bytes.subarray(26, -1));
    expect(storedPlants(running.database).find(({ id }) => id === 31n)).toMatchObject({
      created_by: "importer",
    });
  });

  test("has a body limit of its own, and a file that cannot be read is refused with the reason", async () => {
    const rows = Buffer.from('{"id":41,"name":"Same"}\n'.repeat(20_000));
    const { outcomes } = await importAll("large.ndjson", rows, rows.length);
    expect(countsOf(outcomes)).toEqual({ created: 1, replayed: 19_999, refused: 0 });
    const over = await send({ name: "large.ndjson" }, Buffer.alloc(8 * 1024 * 1024 + 1, 0x20));
    expect([over.error, over.message]).toEqual([41301, "The body is over the limit of 8388608 bytes."]);
    const unreadable: [Record<string, string>, string | Buffer<ArrayBuffer>, string][] = [
      [{ name: "plants.csv", last: "true" }, "name,tag\nFern,\n", '"id" is missing'],
      [{ name: "plants.csv", last: "true" }, Buffer.from("\ufeffid,name\n", "utf16le"), "is in UTF-16"],
      [{ name: "a", cursor: "csv.1" }, "", '"cursor"'],
      [{ name: "a", cursor: "csv.30.3.0.5.", last: "true" }, 'id,"n', "header cannot be read"],
    ];
    for (const [query, body, reason] of unreadable) {
      const { error, message } = await send(query, body);
      expect([error, message]).toEqual([40031, expect.stringContaining(reason)]);
    }
  });

  test("needs both scopes, and is in the audit trail once", async () => {
    const row = '{"id": 51, "name": "Fern"}\n';
    const refusal = async (scopes: string[]) => {
      const token = await createToken(`only ${scopes}`, scopes);
      const { error, message } = await send({ name: "x.ndjson" }, row, token);
      return [error, message];
    };
    expect(await refusal(["operator"])).toEqual([40301, "The token lacks the scope plants:create."]);
    expect(await refusal(["plants:create"])).toEqual([40301, "The token lacks the scope operator:read."]);
    await importAll("audited.ndjson", Buffer.from(row.repeat(20)), 64);
    const headers = { Authorization: `Bearer ${operatorToken}` };
    const audit = (await (await fetch(`${running.operatorUrl}/api/audit`, { headers })).json()) as {
      entries: { action: string; subject: string; actor: string; detail: string }[];
    };
    expect(audit.entries.filter(({ subject }) => subject === "audited.ndjson")).toMatchObject([
      { action: "import.started", actor: "importer", detail: "ndjson" },
    ]);
    expect(audit.entries.filter(({ subject }) => subject === "x.ndjson")).toEqual([]);
  });

  test("waits for the rate limit, if that is not for long", () =>
    withService({ "rate-limit": "20/s" }, async () => {
      const rows = Array.from({ length: 25 }, (_, row) => `{"id":${row},"name":"Slow"}\n`).join("");
      const token = await createToken("limited");
      const { outcomes } = await importAll("limited.ndjson", Buffer.from(rows), rows.length, token);
      expect(countsOf(outcomes)).toEqual({ created: 25, replayed: 0, refused: 0 });
    }));
});

describe("with a rate limit of a row per hour", () => {
  test.each([
    ["slow.csv", 'id,name\n71,"a\nb"\n72,b\n73,c'],
    ["slow.json", '[{"id":71,"name":"a"},{"id":72,"name":"b"},{"id":73,"name":"c"}]'],
  ])("each slice of %s stores a row, and the next waits for the limit", (name, text) =>
    withService({ "rate-limit": "1/h" }, async () => {
      const first = await send({ name, last: "true" }, text, await createToken("first"));
      expect([first.status, first.done, first.outcomes.length]).toEqual([200, false, 1]);
      expect(first.consumed).toBeGreaterThan(0);
      const rest = (first.header === undefined ? "" : `${atob(first.header)}\n`) + text.slice(first.consumed);
      const token = await createToken("second");
      const query = { name, last: "true", cursor: first.cursor };
      const second = await send(query, rest, token);
      expect([second.status, second.done, second.outcomes.length]).toEqual([200, false, 1]);
      expect(await send(query, rest, token)).toMatchObject({ status: 429, error: 42901 });
    }),
  );
});

// Each way in which a body may not arrive is tested on the wire; these are the ways in which the handler learns of it.
test.each<[which: string, error: number | undefined, ending: (token: string) => readonly RawPiece[]]>([
  ["whose client goes away", undefined, () => ['{"id":1']],
  ["with an invalid chunk", 40030, () => ["not a size\r\n"]],
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
    const head = `POST /api/imports?name=a.ndjson&last=true HTTP/1.1\r\n${fields}\r\n\r\n`;
    const refused = (received: () => string) => eventually(() => received().includes(`{"error":${error},`));
    const pieces = [head, untilContinue, ...ending(token.id), ...(error === undefined ? [] : [refused])];
    await sendRaw(port, pieces, 0);
  };
  // As many as may run at a time.
  await Promise.all(Array.from({ length: 4 }, upload));
  // The service may learn only later that a client has gone away.
  await eventually(async () => (await send({ name: "a.ndjson", last: "true" }, "")).status === 200);
});

test("an import waits for its turn if few plants may be pending", () =>
  withService({ "max-pending": "1" }, async () => {
    const rows = '{"id":1,"name":"a"}\n{"id":2,"name":"b"}\n{"id":3,"name":"c"}\n';
    const { outcomes } = await send({ name: "a.ndjson", last: "true" }, rows, await createToken("importer"));
    expect(countsOf(outcomes)).toEqual({ created: 3, replayed: 0, refused: 0 });
  }));
