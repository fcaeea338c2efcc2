import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { formatBytes } from "../format.ts";
import { Icon } from "../parts/icons.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Panel } from "../parts/panel.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { useSession } from "../session.ts";
import { ImportProgress } from "./import-progress.tsx";
import { ImportRun } from "./import-run.ts";

const redrawMs = 120;

/** Imports a file of plants, which the browser sends in slices. */
export function ImportPage() {
  const { api, importRef } = useSession();
  const [chosen, setChosen] = useState<File>();
  const [, redraw] = useReducer((version: number, _: undefined) => version + 1, 0);
  const run = importRef.current;
  // The import also runs while other pages are open, so this page polls it.
  const running = run?.state === "running";
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => redraw(undefined), redrawMs);
    return () => clearInterval(timer);
  }, [running]);
  const start = (file: File): void => {
    importRef.current = new ImportRun(file, api);
    setChosen(undefined);
    redraw(undefined);
  };
  return (
    <>
      <PageHead
        title="Import"
        lead="Create plants from a file. Importing a file twice is safe: no plant is stored twice."
      />
      <div class="stack">
        {run !== undefined && (running || chosen === undefined) && (
          <ImportProgress
            run={run}
            onResume={() => {
              run.resume(api);
              redraw(undefined);
            }}
          />
        )}
        {!running && <FilePicker chosen={chosen} onChoose={setChosen} onStart={start} />}
        <Formats />
      </div>
    </>
  );
}

interface FilePickerProps {
  readonly chosen: File | undefined;
  readonly onChoose: (file: File | undefined) => void;
  readonly onStart: (file: File) => void;
}

function FilePicker({ chosen, onChoose, onStart }: FilePickerProps) {
  const [dragging, setDragging] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const startButton = useRef<HTMLButtonElement>(null);
  useEffect(() => startButton.current?.focus(), [chosen]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping needs a mouse; the button does the same by keyboard
    <div
      class={dragging ? "drop over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        setDragging(true);
      }}
      onDragLeave={() => setDragging(false)}
      onDrop={(event) => {
        event.preventDefault();
        setDragging(false);
        onChoose(event.dataTransfer?.files[0]);
      }}
    >
      <input
        ref={input}
        type="file"
        class="visually-hidden"
        tabIndex={-1}
        aria-label="File to import"
        accept=".ndjson,.jsonl,.json,.csv,.tsv,.gz,application/json,text/csv"
        onChange={(event) => {
          onChoose(event.currentTarget.files?.[0]);
          // Otherwise the same file could not be chosen again.
          event.currentTarget.value = "";
        }}
      />
      {chosen === undefined ? (
        <>
          <Icon name="import" />
          <p>
            <strong>Drop a file here</strong>
          </p>
          <button type="button" class="primary" onClick={() => input.current?.click()}>
            Choose a file
          </button>
          <p class="note">NDJSON, JSON or CSV in UTF-8, any size. Gzip works too.</p>
        </>
      ) : (
        <>
          <p>
            <strong>
              <PlantText text={chosen.name} />
            </strong>{" "}
            <span class="note">{formatBytes(chosen.size)}</span>
          </p>
          <div class="actions">
            <button ref={startButton} type="button" class="primary" onClick={() => onStart(chosen)}>
              Start import
            </button>
            <button type="button" class="quiet" onClick={() => onChoose(undefined)}>
              Choose another file
            </button>
          </div>
        </>
      )}
    </div>
  );
}

function Formats() {
  return (
    <Panel id="formats-title" title="File formats">
      <div class="format-examples">
        <figure>
          <figcaption>NDJSON: one plant per line</figcaption>
          <pre class="code">
            {'{"id": 1, "name": "Fern", "tag": "indoor"}\n{"id": 9007199254740993, "name": "Oak"}'}
          </pre>
        </figure>
        <figure>
          <figcaption>A JSON array</figcaption>
          <pre class="code">{'[{"id": 1, "name": "Fern"},\n {"id": 2, "name": "Oak", "tag": "tree"}]'}</pre>
        </figure>
        <figure>
          <figcaption>CSV: the first line names the columns</figcaption>
          <pre class="code">{"id,name,tag\n1,Fern,indoor\n2,Oak,"}</pre>
        </figure>
      </div>
    </Panel>
  );
}
