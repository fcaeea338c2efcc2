import { type OperatorApi, urlOf } from "../../src/console/api.ts";
import { ImportRun } from "../../src/console/import/import-run.ts";
import type { LineOutcome } from "../../src/operator/responses.ts";
import { eventually } from "./eventually.ts";
import { fake } from "./fake.ts";

/**
 * Imports a file with a service that does this with the lines of each request, and that at the end. Returns the run, the
 * requests, and what it reported at the end.
 */
export async function importWith(
  name: string,
  content: string,
  service: (lines: string[]) => LineOutcome[],
  atEnd: () => void = () => {},
) {
  const sent: { readonly path: string; readonly lines: string[] }[] = [];
  const finished: unknown[] = [];
  const api = fake<OperatorApi>({
    async post<Answer>(path: string, body: unknown) {
      finished.push({ path, ...(body as object) });
      return atEnd() as Answer;
    },
    async upload<Answer>(path: string, values: object, body: Blob) {
      const lines = (await body.text()).split("\n").slice(0, -1);
      sent.push({ path: urlOf(path, { ...values }), lines });
      return { startedAt: "2026-11-17T12:00:00.000Z", outcomes: service(lines) } as Answer;
    },
  });
  const run = await chooseFile(name, content, api);
  run.start();
  await eventually(() => !run.isSending);
  return { run, sent, finished };
}

/** The run of a file whose first part has been read. */
export async function chooseFile(name: string, content: string, api = unansweredApi): Promise<ImportRun> {
  const run = new ImportRun(new File([content], name), api, 1000);
  await eventually(() => run.state !== "reading");
  return run;
}

export const createAll = (lines: string[]) => lines.map((): LineOutcome => "created");

/** An API that never answers a request, which can be aborted. */
export const unansweredApi = fake<OperatorApi>({
  upload: <Answer>(_path: string, _values: object, _body: Blob, signal: AbortSignal) =>
    new Promise<Answer>((_, reject) => {
      if (signal.aborted) reject(signal.reason);
      signal.addEventListener("abort", () => reject(signal.reason));
    }),
});
