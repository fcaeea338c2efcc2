import { wordsOf } from "../api.ts";
import { count, duration, plural, size } from "../format.ts";
import { download } from "../parts/download.ts";
import { type ImportRun, refusedShownMax } from "./import-run.ts";

// The browser needs the address of a file until it has begun to save it.
const keepAddressMs = 60_000;
const titles = {
  running: "Importing",
  done: "Done",
  stopped: "Stopped",
  failed: "The import could not go on",
} as const;

/** How far the file has come, and what became of its rows. */
export function ImportProgress({ run }: { readonly run: ImportRun }) {
  const running = run.state === "running";
  const seconds = Math.max(((run.endedMs ?? performance.now()) - run.startedMs) / 1000, 0.001);
  const part = run.state === "done" ? 1 : run.bytesRead / Math.max(run.file.size, 1);
  const left = part > 0 && seconds > 2 ? (seconds / part) * (1 - part) : undefined;
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
      <progress aria-label="Read so far" max={1} value={part} />
      <p class="note">
        {size(run.state === "done" ? run.file.size : run.bytesRead)} of {size(run.file.size)},{" "}
        {count(run.rows / seconds)} rows a second
        {running && left !== undefined && `, about ${duration(left)} left`}
        {!running && `, ${duration(seconds)} in all`}
      </p>
      <dl class="tally">
        <Tally name="Created" value={run.created} kind="good" />
        <Tally name="Stored before" value={run.replayed} kind="even" />
        <Tally name="Refused" value={run.refused} kind={run.refused > 0 ? "bad" : "even"} />
      </dl>
      <p class="unseen" role="status">
        {!running &&
          `${titles[run.state]}: ${count(run.created)} created, ${count(run.replayed)} stored before, ${count(run.refused)} refused.`}
      </p>
      {run.state === "failed" && (
        <p class="trouble" role="alert">
          {wordsOf(run.trouble)} Once that is mended, start the same file again: what is stored is only
          counted.
        </p>
      )}
      {run.state === "stopped" && (
        <p>Start the same file again to go on: what is stored already is only counted.</p>
      )}
      {!running && run.rows > 0 && <Downloads run={run} />}
      {run.refused > 0 && <Refused run={run} />}
    </section>
  );
}

function Tally(props: {
  readonly name: string;
  readonly value: number;
  readonly kind: "good" | "even" | "bad";
}) {
  return (
    <div class={`tally-${props.kind}`}>
      <dt>{props.name}</dt>
      <dd>{count(props.value)}</dd>
    </div>
  );
}

function Downloads({ run }: { readonly run: ImportRun }) {
  return (
    <div class="actions">
      {run.refused > 0 && (
        <button type="button" class="quiet" onClick={() => save(run.refusedFile())}>
          Download the refused rows
        </button>
      )}
      <button type="button" class="quiet" onClick={() => save(run.reportFile())}>
        Download the report of every row
      </button>
    </div>
  );
}

function Refused({ run }: { readonly run: ImportRun }) {
  return (
    <>
      <h3>{plural(run.refused, "refused row")}</h3>
      {run.refused > refusedShownMax && <p class="note">The first {refusedShownMax} are shown here.</p>}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <section class="scroll-box" tabIndex={0} aria-label="Refused rows">
        <table>
          <thead>
            <tr>
              <th scope="col">{run.placeName === "line" ? "Line" : "Element"}</th>
              <th scope="col">Why</th>
              <th scope="col">Row</th>
            </tr>
          </thead>
          <tbody>
            {run.refusedShown.map(({ place, reason, excerpt }) => (
              <tr key={place}>
                <th scope="row">{count(place)}</th>
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
  setTimeout(() => URL.revokeObjectURL(url), keepAddressMs);
}
