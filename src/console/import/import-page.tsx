import { useEffect, useRef } from "preact/hooks";
import { formatCount, formatPlural } from "../../text/counts.ts";
import { minuteMs } from "../../text/duration.ts";
import { formatBytes } from "../../text/sizes.ts";
import { describeError } from "../api.ts";
import { useConsole, useObserved, useRouter } from "../console.ts";
import { formatDuration } from "../format.ts";
import { ErrorNotice, Skeleton } from "../parts/content-states.tsx";
import { Button, download } from "../parts/controls.tsx";
import { useWindowEvent } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { Link } from "../parts/link.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Panel } from "../parts/panel.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { queryOf, withQuery } from "../query.ts";
import { FilePreview } from "./file-preview.tsx";
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

/** The chosen file: its preview, and once it is imported, how far that is. */
function FileCard({ run }: { readonly run: ImportRun }) {
  const { imports } = useConsole();
  const { state, canStart, isSending, report } = run;
  const isReady = state === "ready";
  const hasEnded = !isSending && report.rows > 0;
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
      {state === "reading" && <Skeleton lines={4} />}
      <p class="note">
        {describeProgress(run)}
        <CreatedPlants run={run} />
      </p>
      {isReady ? <FilePreview run={run} /> : <Outcomes run={run} />}
      <p class="visually-hidden" role="status">
        {hasEnded &&
          `${titles[state]}${report.created} created, ${report.replayed} already stored, ${report.refused} refused.`}
      </p>
      <ErrorNotice error={whyHalted(run)} />
      <div class="line">
        {canStart && (
          <Button ref={start} class="primary" onClick={() => run.start()}>
            {isReady ? "Start import" : "Continue"}
          </Button>
        )}
        {isReady && <Button onClick={() => imports.forget()}>Choose another file</Button>}
        {hasEnded && report.refused > 0 && (
          <Button onClick={() => save(report.refusedFile(run.header))}>Download refused rows</Button>
        )}
      </div>
      {report.refused > 0 && (
        <RefusedRows
          report={report}
          title={formatPlural(report.refused, "refused row")}
          isGrowing={isSending}
        />
      )}
    </section>
  );
}

/** How many rows had which outcome, as numbers and as a bar. */
function Outcomes({ run: { report, share, state } }: { readonly run: ImportRun }) {
  const { rows, created, replayed, refused } = report;
  const counts = { Created: created, "Already stored": replayed, Refused: refused };
  // Before the first outcome there are no parts, and the bar has the style sheet's.
  const percent = (count: number) => (rows === 0 ? undefined : `${(100 * count) / rows}%`);
  if (rows === 0 && state !== "running" && state !== "waiting") return null;
  return (
    <>
      <progress
        aria-label="Progress"
        class={refused > 0 ? "some-refused" : undefined}
        style={{ "--created-end": percent(created), "--stored-end": percent(rows - refused) }}
        max={1}
        value={share}
      />
      <dl class="tally">
        {Object.entries(counts).map(([name, count]) => (
          <div key={name}>
            <dt class={`swatch ${name.toLowerCase()}`}>{name}</dt>
            <dd>{formatCount(count)}</dd>
          </div>
        ))}
      </dl>
    </>
  );
}

/** Leads to what the import has created, once it has ended. */
function CreatedPlants({ run: { startedAt, isSending, report } }: { readonly run: ImportRun }) {
  const { me } = useConsole().session;
  if (isSending || report.created === 0) return null;
  const href = withQuery("/plants", queryOf({ token: me.name, since: startedAt }));
  return (
    <>
      {" "}
      <Link href={href}>Show the plants</Link>
    </>
  );
}

/** "CSV, 3 MB" of a chosen file, then how much of it is done, and in the end "30,000 rows in 4.6 s". */
function describeProgress(run: ImportRun): string {
  const { file, source, state, report, secondsLeft, seconds, isPreviewComplete, preview } = run;
  const facts = source === undefined ? [] : [source];
  if (report.rows > 0 && state !== "done")
    facts.push(`${formatBytes(run.bytesDone)} of ${formatBytes(file.size)}`);
  else facts.push(formatBytes(file.size));
  if (state === "ready" && isPreviewComplete) facts.push(formatPlural(preview.rows, "row"));
  if (report.rows > 0) facts.push(formatPlural(report.rows, "row"));
  if (run.isSending && secondsLeft !== undefined) facts.push(`about ${formatDuration(secondsLeft)} left`);
  const took = seconds < 60 ? `${seconds.toFixed(1)} s` : formatDuration(seconds);
  return facts.join(", ") + (state === "done" ? ` in ${took}.` : "");
}

function whyHalted({ state, error, report }: ImportRun): string | undefined {
  if (error === undefined || state === "stopped") return undefined;
  if (state === "waiting") return `${describeError(error)} The import waits, and continues by itself.`;
  const stored = report.created + report.replayed;
  if (state !== "failed" || stored === 0) return describeError(error);
  return `${describeError(error)} ${formatPlural(stored, "row")} of the file ${stored === 1 ? "is" : "are"} stored, and stored once if you import it again.`;
}

function save({ name, blob }: { readonly name: string; readonly blob: Blob }): void {
  const url = URL.createObjectURL(blob);
  download(url, name);
  setTimeout(() => URL.revokeObjectURL(url), urlLifetimeMs);
}
