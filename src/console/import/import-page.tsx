import { useEffect, useReducer, useRef, useState } from "preact/hooks";
import { size } from "../format.ts";
import { Icon } from "../parts/icons.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { useSurroundings } from "../session.ts";
import { ImportProgress } from "./import-progress.tsx";
import { ImportRun } from "./import-run.ts";

const drawEveryMs = 120;
const createScope = "plants:create";

/** A file of plants, dropped or chosen, read and sent by this page. */
export function ImportPage() {
  const { api, me, importHolder } = useSurroundings();
  const [chosen, setChosen] = useState<File>();
  const [, draw] = useReducer((turn: number, _: undefined) => turn + 1, 0);
  const run = importHolder.current;
  // It goes on while other pages are looked at, so this page looks in instead of being told.
  const running = run?.state === "running";
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(() => draw(undefined), drawEveryMs);
    return () => clearInterval(timer);
  }, [running]);
  const start = (file: File): void => {
    importHolder.current = new ImportRun(file, api.token);
    setChosen(undefined);
    draw(undefined);
  };
  return (
    <div class="narrow-page">
      <PageHead
        title="Import"
        lead="Plants from a file, row by row through the public contract. Running a file twice is safe: what is stored already is only counted."
      />
      {!me.scopes.includes(createScope) && (
        <p class="trouble" role="alert">
          Your token lacks the scope “{createScope}”, so the service will refuse every row. Sign in with one
          that has it.
        </p>
      )}
      {run === undefined || (!running && chosen !== undefined) ? (
        <FilePicker chosen={chosen} onChoose={setChosen} onStart={start} />
      ) : (
        <>
          <ImportProgress run={run} />
          {!running && <FilePicker chosen={undefined} onChoose={setChosen} onStart={start} />}
        </>
      )}
      <Formats />
    </div>
  );
}

interface FilePickerProps {
  readonly chosen: File | undefined;
  readonly onChoose: (file: File | undefined) => void;
  readonly onStart: (file: File) => void;
}

function FilePicker({ chosen, onChoose, onStart }: FilePickerProps) {
  const [over, setOver] = useState(false);
  const input = useRef<HTMLInputElement>(null);
  const startButton = useRef<HTMLButtonElement>(null);
  useEffect(() => startButton.current?.focus(), [chosen]);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: dropping is for the mouse; the button inside does the same by keyboard
    <div
      class={over ? "drop over" : "drop"}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        onChoose(event.dataTransfer?.files[0]);
      }}
    >
      <input
        ref={input}
        type="file"
        class="unseen"
        tabIndex={-1}
        aria-label="File to import"
        accept=".ndjson,.jsonl,.json,.csv,application/json,text/csv"
        onChange={(event) => {
          onChoose(event.currentTarget.files?.[0]);
          // Or the same file, once mended, could not be chosen again.
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
          <p class="note">
            NDJSON, a JSON array, or CSV, of any size. It is read here and not uploaded as a whole.
          </p>
        </>
      ) : (
        <>
          <p>
            <strong>{chosen.name}</strong> <span class="note">{size(chosen.size)}</span>
          </p>
          <div class="actions">
            <button ref={startButton} type="button" class="primary" onClick={() => onStart(chosen)}>
              Start the import
            </button>
            <button type="button" class="quiet" onClick={() => onChoose(undefined)}>
              Choose another
            </button>
          </div>
        </>
      )}
    </div>
  );
}

function Formats() {
  return (
    <section class="formats" aria-labelledby="formats-title">
      <h2 id="formats-title">What a file looks like</h2>
      <div class="format-examples">
        <figure>
          <figcaption>NDJSON: one plant on each line</figcaption>
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
    </section>
  );
}
