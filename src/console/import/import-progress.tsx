import { errorMessage } from "../api.ts";
import { formatBytes, formatCount, formatDuration, formatPlural } from "../format.ts";
import { download } from "../parts/download.ts";
import { type ImportRun, refusedListedMax } from "./import-run.ts";

// The browser needs the URL until it starts to save the file.
const urlLifetimeMs = 60_000;
const titles = {
  running: "Importing",
  done: "Done",
  stopped: "Stopped",
  failed: "Failed",
} as const;

/** The progress of the import and the outcomes of its rows. */
export function ImportProgress({ run }: { readonly run: ImportRun }) {
  const running = run.state === "running";
  const seconds = Math.max(((run.endedMs ?? performance.now()) - run.startedMs) / 1000, 0.001);
  const share = run.state === "done" ? 1 : run.bytesRead / Math.max(run.file.size, 1);
  const secondsLeft = share > 0 && seconds > 2 ? (seconds / share) * (1 - share) : undefined;
  return (
    <section class="card import-run" aria-labelledby="run-title">
      <div class="card-head">
        <h2 id="run-title">
          {titles[run.state]}: {run.file.name}
        </h2>
        {running && (
          <button type="button" class="quiet" onClick={() => run.stop()}>
            Stop
          </button>
        )}
      </div>
      <progress aria-label="Progress" max={1} value={share} />
      <p class="note">
        {formatBytes(run.state === "done" ? run.file.size : run.bytesRead)} of {formatBytes(run.file.size)},{" "}
        {formatCount(run.rows / seconds)} rows per second
        {running && secondsLeft !== undefined && `, about ${formatDuration(secondsLeft)} left`}
        {!running && `, ${formatDuration(seconds)} in total`}
      </p>
      <dl class="tally">
        <Count name="Created" value={run.created} kind="good" />
        <Count name="Already stored" value={run.replayed} kind="even" />
        <Count name="Refused" value={run.refused} kind={run.refused > 0 ? "bad" : "even"} />
      </dl>
      <p class="visually-hidden" role="status">
        {!running &&
          `${titles[run.state]}: ${formatCount(run.created)} created, ${formatCount(run.replayed)} already stored, ${formatCount(run.refused)} refused.`}
      </p>
      {run.state === "failed" && (
        <p class="error-notice" role="alert">
          {errorMessage(run.error)} To resume, import the same file again; rows that are already stored are
          not stored twice.
        </p>
      )}
      {run.state === "stopped" && (
        <p>To resume, import the same file again; rows that are already stored are not stored twice.</p>
      )}
      {!running && run.rows > 0 && <Downloads run={run} />}
      {run.refused > 0 && <Refused run={run} />}
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

function Downloads({ run }: { readonly run: ImportRun }) {
  return (
    <div class="actions">
      {run.refused > 0 && (
        <button type="button" class="quiet" onClick={() => save(run.refusedFile())}>
          Download refused rows
        </button>
      )}
      <button type="button" class="quiet" onClick={() => save(run.reportFile())}>
        Download report
      </button>
    </div>
  );
}

function Refused({ run }: { readonly run: ImportRun }) {
  return (
    <>
      <h3>{formatPlural(run.refused, "refused row")}</h3>
      {run.refused > refusedListedMax && <p class="note">The first {refusedListedMax} are listed here.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <section class="scroll-box" tabIndex={0} aria-label="Refused rows">
        <table>
          <thead>
            <tr>
              <th scope="col">{run.positionUnit === "line" ? "Line" : "Element"}</th>
              <th scope="col">Reason</th>
              <th scope="col">Row</th>
            </tr>
          </thead>
          <tbody>
            {run.refusedListed.map(({ position, reason, excerpt }) => (
              <tr key={position}>
                <th scope="row">{formatCount(position)}</th>
                <td>{reason}</td>
                <td>
                  <code>{excerpt}</code>
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
