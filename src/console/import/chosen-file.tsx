import { useEffect, useRef, useState } from "preact/hooks";
import { checkRow } from "../../files/check-row.ts";
import type { InputRow } from "../../files/input-row.ts";
import { formatCount, formatPlural } from "../../text/counts.ts";
import { formatBytes } from "../../text/sizes.ts";
import { useConsole } from "../console.ts";
import { ErrorNotice } from "../parts/content-states.tsx";
import { Button } from "../parts/controls.tsx";
import { PlantText, Tag } from "../parts/plant-text.tsx";
import { TableHead } from "../parts/table.tsx";
import { type FilePreview, readPreview } from "./file-preview.ts";

interface ChosenFileProps {
  readonly file: File;
  /** Whether the result of a check is shown below, which itself says what is wrong. */
  readonly isChecked: boolean;
  readonly onCheck: () => void;
  readonly onImport: () => void;
  /** Called when the user wants to choose another file. */
  readonly onForget: () => void;
}

/** What a file contains, before anything of it is sent. */
export function ChosenFile({ file, isChecked, onCheck, onImport, onForget }: ChosenFileProps) {
  const { me } = useConsole().session;
  const [preview, setPreview] = useState<FilePreview>();
  const buttons = useRef<HTMLDivElement>(null);
  const isUnreadable = preview?.error !== undefined && preview.firstRows.length === 0;
  useEffect(() => {
    const abort = new AbortController();
    void readPreview(file, me.bodyBytesMax, { signal: abort.signal, onRead: setPreview });
    return () => abort.abort();
  }, [file]);
  useEffect(() => buttons.current?.querySelector("button")?.focus(), [isUnreadable]);
  const facts = [preview?.source, formatBytes(file.size)];
  if (preview?.rowCount !== undefined) facts.push(formatPlural(preview.rowCount, "row"));
  return (
    <section class="card panel stack wrap" aria-labelledby="file-title">
      <div>
        <h2 id="file-title">
          <PlantText text={file.name} />
        </h2>
        <p class="note">{facts.filter(Boolean).join(", ")}</p>
      </div>
      {preview !== undefined && preview.firstRows.length > 0 && <FirstRows rows={preview.firstRows} />}
      {!isChecked && <ErrorNotice error={preview?.error} />}
      <div class="line" ref={buttons}>
        {!isUnreadable && (
          <>
            <Button class="primary" onClick={onImport}>
              Start import
            </Button>
            <Button onClick={onCheck}>Check only</Button>
          </>
        )}
        <Button onClick={onForget}>Choose another file</Button>
      </div>
    </section>
  );
}

/** The first rows as the plants that they are. */
function FirstRows({ rows }: { readonly rows: readonly InputRow[] }) {
  const unit = rows[0]?.element === undefined ? "Line" : "Element";
  return (
    <table class="listed preview">
      <caption class="visually-hidden">The first rows</caption>
      <TableHead columns={["Row", "Id", "Name", "Tag"]} />
      <tbody>
        {rows.map((row) => {
          const position = row.element ?? row.line;
          return (
            <tr key={position}>
              <th scope="row">
                {unit} {formatCount(position)}
              </th>
              <FirstRow row={row} />
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function FirstRow({ row }: { readonly row: InputRow }) {
  const checked = checkRow(row);
  if (checked.plant === undefined)
    return (
      <td colSpan={3} class="field-error">
        <PlantText text={checked.message} />
      </td>
    );
  const { id, name, tag } = checked.plant;
  return (
    <>
      <td class="exact">{String(id)}</td>
      <td>
        <PlantText text={name} />
      </td>
      <td>{tag !== undefined && <Tag tag={tag} />}</td>
    </>
  );
}
