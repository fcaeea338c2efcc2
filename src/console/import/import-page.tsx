import { useState } from "preact/hooks";
import { formatCount, formatPlural } from "../../text/counts.ts";
import { minuteMs } from "../../text/duration.ts";
import { formatBytes } from "../../text/sizes.ts";
import { describeError } from "../api.ts";
import { useConsole, useObserved, useRouter } from "../console.ts";
import { formatDuration } from "../format.ts";
import { ErrorNotice } from "../parts/content-states.tsx";
import { Button, download } from "../parts/controls.tsx";
import { useWindowEvent } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { Link } from "../parts/link.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Panel } from "../parts/panel.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { ChosenFile } from "./chosen-file.tsx";
import type { ImportRun } from "./import-run.ts";
import { RefusedRows } from "./refused-rows.tsx";

// The browser needs the URL until it starts to save the file.
const urlLifetimeMs = minuteMs;
const titles = { running: "Importing", done: "Done", stopped: "Stopped", failed: "Failed" } as const;
const checkTitles = { ...titles, running: "Checking", done: "Checked" } as const;
const examples = {
  "NDJSON: one plant per line":
    '{"id": 1, "name": "Oak", "tag": "tree"}\n{"id": 9007199254740993, "name": "Ivy"}',
  "A JSON array": '[{"id": 1, "name": "Oak"},\n {"id": 2, "name": "Ivy"}]',
  "CSV: the first line names the columns": "id,name,tag\n1,Oak,tree\n2,Ivy,",
};

/** Imports a file of plants, which the browser reads and sends in parts. */
export function ImportPage() {
  const { api, imports, session } = useConsole();
  const { bodyBytesMax } = session.me;
  const { last, check, isImporting } = useObserved(imports);
  // Whoever returns to the page while a file is checked finds that file again.
  const [chosen, setChosen] = useState(check?.file);
  const shown = chosen === undefined ? last : check;
  return (
    <>
      <PageHead
        title="Import"
        lead="Create plants from a file. Importing a file twice is safe: no plant is stored twice."
      />
      <div class="stack">
        {chosen !== undefined && (
          <ChosenFile
            file={chosen}
            isChecked={check !== undefined}
            onCheck={() => imports.startCheck(chosen, bodyBytesMax)}
            onImport={() => {
              imports.startImport(chosen, api, bodyBytesMax);
              setChosen(undefined);
            }}
            onForget={() => {
              imports.endCheck();
              setChosen(undefined);
            }}
          />
        )}
        {shown !== undefined && <ImportProgress run={shown} />}
        {chosen === undefined && !isImporting && <FilePicker onChoose={setChosen} />}
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
  const { last, check } = useObserved(imports);
  // The browser asks for confirmation before it closes the tab during an import.
  useWindowEvent("beforeunload", (event) => {
    if (imports.isImporting) event.preventDefault();
  });
  const run = check?.state === "running" ? check : last;
  const state = run?.state === "running" && run.isWaiting ? "waiting" : run?.state;
  if (run === undefined || path === "/import") return null;
  if (state !== "running" && state !== "waiting" && state !== "failed") return null;
  const label = state === "running" ? titlesOf(run).running : `Import ${state}`;
  return (
    <Link href="/import" class={`import-indicator ${state}`} title={label}>
      <Icon name="import" /> <span class="label">{label}</span>{" "}
      {state !== "failed" && <span>{Math.floor(run.share * 100)}%</span>}
    </Link>
  );
}

function FilePicker({ onChoose }: { readonly onChoose: (file: File | undefined) => void }) {
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
        onChange={(event) => onChoose(event.currentTarget.files?.[0])}
      />
    </div>
  );
}

/** The progress of the import and the outcomes of its rows. */
function ImportProgress({ run }: { readonly run: ImportRun }) {
  const { api } = useConsole();
  const { report, secondsLeft, share, source } = run;
  const isRunning = run.state === "running";
  const title = titlesOf(run)[run.state];
  const counts: Record<string, number> = run.isCheck
    ? { Valid: report.valid, Refused: report.refused }
    : { Created: report.created, "Already stored": report.replayed, Refused: report.refused };
  // Before the first outcome there are no parts, and the bar has the style sheet's.
  const percent = (rows: number): string | undefined =>
    report.rows === 0 ? undefined : `${(100 * rows) / report.rows}%`;
  const tally = Object.entries(counts).map(([name, count]) => `${formatCount(count)} ${name.toLowerCase()}`);
  return (
    <section class="card panel stack wrap import-run" aria-labelledby="run-title">
      <div class="card-head">
        <h2 id="run-title">
          {title}: <PlantText text={run.file.name} />
        </h2>
        {isRunning && <Button onClick={() => run.stop()}>Stop</Button>}
      </div>
      <progress
        aria-label="Progress"
        class={report.refused > 0 ? "some-refused" : undefined}
        style={{
          "--created-end": percent(report.created + report.valid),
          "--stored-end": percent(report.rows - report.refused),
        }}
        max={1}
        value={share}
      />
      <p class="note">
        {source && `${source}, `}
        {run.state !== "done" && `${formatBytes(run.bytesDone)} of `}
        {formatBytes(run.file.size)}, {formatPlural(report.rows, "row")}
        {isRunning && secondsLeft !== undefined && `, about ${formatDuration(secondsLeft)} left`}
      </p>
      <dl class="tally">
        {Object.entries(counts).map(([name, count]) => (
          <div key={name}>
            <dt class={`swatch ${name.toLowerCase()}`}>{name}</dt>
            <dd>{formatCount(count)}</dd>
          </div>
        ))}
      </dl>
      <p class="visually-hidden" role="status">
        {!isRunning && `${title}: ${tally.join(", ")}.`}
      </p>
      {run.isCheck && (
        <p class="note">
          Nothing is sent. Only an import finds out whether an id already belongs to another plant.
        </p>
      )}
      <ErrorNotice error={whyHalted(run)} />
      {run.canResume && (
        <div class="line">
          <Button class="primary" onClick={() => run.resume(api)}>
            Resume
          </Button>
        </div>
      )}
      {!isRunning && report.rows > 0 && (
        <div class="line">
          {report.refused > 0 && (
            <Button onClick={() => save(report.refusedFile(run.header))}>Download refused rows</Button>
          )}
          <Button onClick={() => save(report.reportFile())}>Download report</Button>
        </div>
      )}
      {report.refused > 0 && <RefusedRows report={report} isFinal={!isRunning} />}
    </section>
  );
}

function titlesOf({ isCheck }: ImportRun) {
  return isCheck ? checkTitles : titles;
}

function whyHalted({ state, isWaiting, error, report, isCheck }: ImportRun): string | undefined {
  if (isWaiting) return `${describeError(error)} The import waits, and continues by itself.`;
  if (state !== "failed") return undefined;
  const safe = report.rows === 0 || isCheck ? "" : " Rows that are already stored are not stored twice.";
  return describeError(error) + safe;
}

function save({ name, blob }: { readonly name: string; readonly blob: Blob }): void {
  const url = URL.createObjectURL(blob);
  download(url, name);
  setTimeout(() => URL.revokeObjectURL(url), urlLifetimeMs);
}
