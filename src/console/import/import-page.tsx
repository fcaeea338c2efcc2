import { useEffect, useRef } from "preact/hooks";
import { formatCount, formatPlural } from "../../text/counts.ts";
import { minuteMs } from "../../text/duration.ts";
import { formatBytes } from "../../text/sizes.ts";
import { describeError, withQuery } from "../api.ts";
import { useConsole, useObserved, useRouter } from "../console.ts";
import { ErrorNotice, Panel, Skeleton } from "../parts/content-states.tsx";
import { Button, download } from "../parts/controls.tsx";
import { useWindowEvent } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { Link } from "../parts/link.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { PlantText, Tag } from "../parts/plant-text.tsx";
import { Table } from "../parts/table.tsx";
import type { ImportRun, ImportState } from "./import-run.ts";
import { RefusedRows } from "./refused-rows.tsx";

// The browser needs the URL until it starts to save the file.
const urlLifetimeMs = minuteMs;
/** What stands before the name of the file. */
const titles: Readonly<Record<ImportState, string>> = {
  reading: "",
  ready: "",
  running: "Importing: ",
  waiting: "Importing: ",
  stopped: "Stopped: ",
  failed: "Failed: ",
  done: "Done: ",
};
const examples = {
  "NDJSON: one plant per line":
    '{"id": 1, "name": "Oak", "tag": "tree"}\n{"id": 9007199254740993, "name": "Ivy"}',
  "A JSON array": '[{"id": 1, "name": "Oak"},\n {"id": 2, "name": "Ivy"}]',
  "CSV: the first line names the columns": "id,name,tag\n1,Oak,tree\n2,Ivy,",
};

/** Imports a file of plants, which the browser reads and sends in parts. */
export function ImportPage() {
  const { imports, session } = useConsole();
  const { run, isSending } = useObserved(imports);
  const isChosen = run?.state === "reading" || run?.state === "ready";
  return (
    <>
      <PageHead
        title="Import"
        lead="Create plants from a file. Importing a file twice is safe: no plant is stored twice."
      />
      <div class="stack">
        {run !== undefined && <FileCard run={run} />}
        {!isSending && !isChosen && (
          <FilePicker onChoose={(file) => imports.choose(file, session.me.bodyBytesMax)} />
        )}
        <Panel id="formats-title" title="File formats">
          <div class="format-examples">
            {Object.entries(examples).map(([name, text]) => (
              <figure key={name}>
                <figcaption>{name}</figcaption>
                <pre class="code">{text}</pre>
              </figure>
            ))}
          </div>
        </Panel>
      </div>
    </>
  );
}

/** Says on every page but its own whether an import is running or needs attention. */
export function ImportIndicator() {
  const { path } = useRouter();
  const { imports } = useConsole();
  const { run } = useObserved(imports);
  // The browser asks for confirmation before it closes the tab during an import.
  useWindowEvent("beforeunload", (event) => {
    if (imports.isSending) event.preventDefault();
  });
  if (run === undefined || path === "/import") return null;
  if (!run.isSending && run.state !== "failed") return null;
  const label = run.state === "running" ? "Importing" : `Import ${run.state}`;
  return (
    <Link href="/import" class={`import-indicator ${run.state}`} title={label}>
      <Icon name="import" /> <span class="label">{label}</span>{" "}
      {run.isSending && <span>{Math.floor(run.share * 100)}%</span>}
    </Link>
  );
}

function FilePicker({ onChoose }: { readonly onChoose: (file: File) => void }) {
  return (
    <div class="drop">
      <Icon name="import" />
      <strong>Drop a file here</strong>
      {/* The input covers all of it: a browser accepts a file that is dropped on one. */}
      <Button class="primary" tabIndex={-1} aria-hidden="true">
        Choose a file
      </Button>
      <p class="note">NDJSON, JSON or CSV in UTF-8, any size. Gzip works too.</p>
      <input
        type="file"
        aria-label="File to import"
        accept=".ndjson,.jsonl,.json,.csv,.tsv,.gz,application/json,text/csv"
        onChange={({ currentTarget: { files } }) => {
          if (files?.[0] !== undefined) onChoose(files[0]);
        }}
      />
    </div>
  );
}

/** The chosen file: its preview, and once it is imported, what became of it. */
function FileCard({ run }: { readonly run: ImportRun }) {
  const { imports } = useConsole();
  const { state, canStart, isSending, report, error, share } = run;
  const isReady = state === "ready";
  const hasRows = report.rows > 0;
  const heading = useRef<HTMLHeadingElement>(null);
  const start = useRef<HTMLButtonElement>(null);
  // The button that was pressed is gone, and with it the focus.
  useEffect(() => {
    if (isReady) start.current?.focus();
    else if (document.activeElement === document.body) heading.current?.focus();
  }, [isReady, isSending]);
  return (
    <section class="card panel stack wrap import-run" aria-labelledby="run-title">
      <div class="card-head">
        <h2 id="run-title" ref={heading} tabIndex={-1}>
          {titles[state]}
          <PlantText text={run.file.name} />
        </h2>
        {isSending && <Button onClick={() => run.stop()}>Stop</Button>}
      </div>
      {state === "reading" && <Skeleton />}
      <p class="note" role="status">
        {describeFile(run)}
        {hasRows && !isSending && <CreatedPlants run={run} />}
      </p>
      {isReady && <Preview run={run} />}
      {isSending && <progress aria-label="Progress" max={1} value={share} />}
      {hasRows && <Tally report={report} />}
      {error !== undefined && state !== "stopped" && <ErrorNotice error={describeHalt(run)} />}
      <div class="line">
        {canStart && (
          <Button ref={start} class="primary" onClick={() => run.start()}>
            {isReady ? "Start import" : "Continue"}
          </Button>
        )}
        {isReady && <Button onClick={() => imports.forget()}>Choose another file</Button>}
        {report.refused > 0 && !isSending && (
          <Button onClick={() => save(report.refusedFile(run.header))}>Download refused rows</Button>
        )}
      </div>
      {report.refused > 0 && (
        <RefusedRows report={report} title={formatPlural(report.refused, "refused row")} />
      )}
    </section>
  );
}

/** What the first part of the file contains, before anything is sent. */
function Preview({ run: { firstPlants, preview, isPreviewComplete } }: { readonly run: ImportRun }) {
  const checked = `${isPreviewComplete ? "" : "first "}${formatCount(preview.rows)}`;
  return (
    <>
      <Table class="preview" aria-label="The first plants" columns={["Id", "Name", "Tag"]}>
        {firstPlants.map(({ id, name, tag }, position) => (
          <tr key={position}>
            <td class="exact">{String(id)}</td>
            <td>
              <PlantText text={name} />
            </td>
            <td>{tag !== undefined && <Tag tag={tag} />}</td>
          </tr>
        ))}
      </Table>
      {preview.refused > 0 && (
        <RefusedRows
          report={preview}
          title={`${formatCount(preview.refused)} of the ${checked} rows would be refused`}
        />
      )}
    </>
  );
}

/** How many rows had which outcome. */
function Tally({ report: { created, replayed, refused } }: Pick<ImportRun, "report">) {
  const counts = { Created: created, "Already stored": replayed, Refused: refused };
  return (
    <dl class="tally">
      {Object.entries(counts).map(([name, count]) => (
        <div key={name}>
          <dt class={`swatch ${name.toLowerCase()}`}>{name}</dt>
          <dd>{formatCount(count)}</dd>
        </div>
      ))}
    </dl>
  );
}

/** Leads to what the import has created. */
function CreatedPlants({ run: { startedAt, report } }: { readonly run: ImportRun }) {
  const { me } = useConsole().session;
  if (report.created === 0) return null;
  const href = withQuery("/plants", { token: me.name, since: startedAt });
  return (
    <>
      {" "}
      <Link href={href}>Show the plants</Link>
    </>
  );
}

/** "CSV, 3 MB" of a chosen file, and in the end "CSV, 3 MB, 30,000 rows in 4.6 s." */
function describeFile(run: ImportRun): string {
  const { file, source, state, isSending, report, seconds, preview } = run;
  const facts = [source, formatBytes(file.size)].filter((fact) => fact !== undefined);
  if (state === "ready" && run.isPreviewComplete) facts.push(formatPlural(preview.rows, "row"));
  // A screen reader would read the number of rows again and again while it grows.
  if (report.rows === 0 || isSending) return facts.join(", ");
  return `${[...facts, formatPlural(report.rows, "row")].join(", ")} in ${seconds.toFixed(1)} s.`;
}

function describeHalt({ state, error, report }: ImportRun): string {
  if (state === "waiting") return `${describeError(error)} The import waits, and continues by itself.`;
  const stored = report.created + report.replayed;
  if (stored === 0) return describeError(error);
  return `${describeError(error)} ${formatPlural(stored, "row")} of the file ${stored === 1 ? "is" : "are"} stored, and stored once if you import it again.`;
}

function save({ name, blob }: { readonly name: string; readonly blob: Blob }): void {
  const url = URL.createObjectURL(blob);
  download(url, name);
  setTimeout(() => URL.revokeObjectURL(url), urlLifetimeMs);
}
