import { errorMessage } from "../api.ts";
import { formatBytes, formatCount, formatDuration, formatPlural } from "../format.ts";
import { download } from "../parts/download.ts";
import { PlantText } from "../parts/plant-text.tsx";
import { type ImportReport, refusedListedMax } from "./import-report.ts";
import type { ImportRun } from "./import-run.ts";

// The browser needs the URL until it starts to save the file.
const urlLifetimeMs = 60_000;
const reasonCharactersMax = 1000;
const titles = {
  running: "Importing",
  done: "Done",
  stopped: "Stopped",
  failed: "Failed",
} as const;

/** The progress of the import and the outcomes of its rows. */
export function ImportProgress({
  run,
  onResume,
}: {
  readonly run: ImportRun;
  readonly onResume: () => void;
}) {
  const { report, seconds, secondsLeft, share } = run;
  const running = run.state === "running";
  const source = run.text && report.sourceOf(run.text.gzip);
  return (
    <section class="card import-run" aria-labelledby="run-title">
      <div class="card-head">
        <h2 id="run-title">
          {titles[run.state]}: <PlantText text={run.file.name} />
        </h2>
        {running && (
          <button type="button" class="quiet" onClick={() => run.stop()}>
            Stop
          </button>
        )}
      </div>
      <progress aria-label="Progress" max={1} value={share} />
      <p class="note">
        {formatBytes(run.state === "done" ? run.size : run.bytesRead)} of {formatBytes(run.size)},{" "}
        {formatPlural(report.rows, "row")}, {formatCount(report.rows / Math.max(seconds, 0.001))} per second
        {running && secondsLeft !== undefined && `, about ${formatDuration(secondsLeft)} left`}
        {!running && `, ${formatDuration(seconds)} in total`}
      </p>
      {source && <p class="note">Read as {source}.</p>}
      {running && run.text === undefined && <p class="note">Reading the file…</p>}
      <dl class="tally">
        <Count name="Created" value={report.created} kind="good" />
        <Count name="Already stored" value={report.replayed} kind="even" />
        <Count name="Refused" value={report.refused} kind={report.refused > 0 ? "bad" : "even"} />
      </dl>
      <p class="visually-hidden" role="status">
        {!running &&
          `${titles[run.state]}: ${formatCount(report.created)} created, ${formatCount(report.replayed)} already stored, ${formatCount(report.refused)} refused.`}
      </p>
      {running && run.waiting && (
        <p class="error-notice" role="alert">
          {errorMessage(run.error)} The import waits, and continues by itself.
        </p>
      )}
      {run.state === "failed" && (
        <p class="error-notice" role="alert">
          {errorMessage(run.error)}
          {run.text !== undefined && " Rows that are already stored are not stored twice."}
        </p>
      )}
      {run.canResume && (
        <div class="actions">
          <button type="button" class="primary" onClick={onResume}>
            Resume
          </button>
        </div>
      )}
      {!running && report.rows > 0 && <Downloads report={report} />}
      {report.refused > 0 && <Refused report={report} />}
    </section>
  );
}

function Count(props: {
  readonly name: string;
  readonly value: number;
  readonly kind: "good" | "even" | "bad";
}) {
  return (
    <div class={`tally-${props.kind}`}>
      <dt>{props.name}</dt>
      <dd>{formatCount(props.value)}</dd>
    </div>
  );
}

function Downloads({ report }: { readonly report: ImportReport }) {
  return (
    <div class="actions">
      {report.refused > 0 && (
        <button type="button" class="quiet" onClick={() => save(report.refusedFile())}>
          Download refused rows
        </button>
      )}
      <button type="button" class="quiet" onClick={() => save(report.reportFile())}>
        Download report
      </button>
    </div>
  );
}

function Refused({ report }: { readonly report: ImportReport }) {
  return (
    <>
      <h3>{formatPlural(report.refused, "refused row")}</h3>
      {report.refused > refusedListedMax && <p class="note">The first {refusedListedMax} are listed here.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <section class="scroll-box" tabIndex={0} aria-label="Refused rows">
        <table>
          <thead>
            <tr>
              <th scope="col">{report.positionUnit === "line" ? "Line" : "Element"}</th>
              <th scope="col">Reason</th>
              <th scope="col">Row</th>
            </tr>
          </thead>
          <tbody>
            {report.listed.map(({ position, reason, excerpt }) => (
              <tr key={position}>
                <th scope="row">{formatCount(position)}</th>
                <td>
                  <PlantText text={reason} charactersMax={reasonCharactersMax} />
                </td>
                <td>
                  <code>
                    <PlantText text={excerpt} empty="" />
                  </code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </>
  );
}

function save({ name, blob }: { readonly name: string; readonly blob: Blob }): void {
  const url = URL.createObjectURL(blob);
  download(url, name);
  setTimeout(() => URL.revokeObjectURL(url), urlLifetimeMs);
}
