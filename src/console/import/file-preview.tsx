import { checkRow } from "../../files/check-row.ts";
import type { InputRow } from "../../files/input-row.ts";
import { formatCount } from "../../text/counts.ts";
import { PlantText, Tag } from "../parts/plant-text.tsx";
import { TableHead } from "../parts/table.tsx";
import type { ImportRun } from "./import-run.ts";
import { RefusedRows } from "./refused-rows.tsx";

/** What the first part of a file contains, before anything is sent. */
export function FilePreview({ run }: { readonly run: ImportRun }) {
  const { firstRows, preview, isPreviewComplete } = run;
  const checked = `${isPreviewComplete ? "" : "first "}${formatCount(preview.rows)}`;
  return (
    <>
      <table class="listed preview">
        <caption class="visually-hidden">The first rows</caption>
        <TableHead columns={["Row", "Id", "Name", "Tag"]} />
        <tbody>
          {firstRows.map((row) => (
            <PreviewRow key={row.element ?? row.line} row={row} />
          ))}
        </tbody>
      </table>
      {preview.refused > 0 && (
        <RefusedRows
          report={preview}
          title={`${formatCount(preview.refused)} of the ${checked} rows would be refused`}
        />
      )}
    </>
  );
}

function PreviewRow({ row }: { readonly row: InputRow }) {
  const unit = row.element === undefined ? "Line" : "Element";
  const checked = checkRow(row);
  return (
    <tr>
      <th scope="row">
        {unit} {formatCount(row.element ?? row.line)}
      </th>
      {checked.plant === undefined ? (
        <td colSpan={3} class="field-error">
          <PlantText text={checked.message} />
        </td>
      ) : (
        <>
          <td class="exact">{String(checked.plant.id)}</td>
          <td>
            <PlantText text={checked.plant.name} />
          </td>
          <td>{checked.plant.tag !== undefined && <Tag tag={checked.plant.tag} />}</td>
        </>
      )}
    </tr>
  );
}
