import { useState } from "preact/hooks";
import { useConsole } from "../console.ts";
import { Button, download, Select } from "../parts/controls.tsx";
import { FormDialog } from "../parts/dialog.tsx";
import { apiFilter, type Filter } from "../parts/filter.ts";

const formats = [
  ["ndjson", "NDJSON: one JSON object per line, exact"],
  // Most people open an exported CSV in a spreadsheet, which would run a plant's name as a formula.
  ["csv-safe", "CSV: for spreadsheets, runs no formula"],
] as const;

/** Exports the plants that match the filter, the oldest first. The browser streams the file to disk. */
export function ExportButton({ filter: { order: _, ...filter } }: { readonly filter: Filter }) {
  const { api } = useConsole();
  const [isOpen, setIsOpen] = useState(false);
  const [format, setFormat] = useState<string>("ndjson");
  const close = (): void => setIsOpen(false);
  const start = async (): Promise<void> => {
    const { url } = await api.post("/api/exports", { format, ...apiFilter(filter) });
    download(url);
    close();
  };
  const isFiltered = Object.keys(filter).length > 0;
  return (
    <>
      <Button onClick={() => setIsOpen(true)}>Export</Button>
      {isOpen && (
        <FormDialog title="Export" submit="Export" onSubmit={start} onClose={close}>
          <p>{isFiltered ? "The plants that match the filter." : "All plants."}</p>
          <Select label="Format" options={formats} value={format} onChange={setFormat} />
        </FormDialog>
      )}
    </>
  );
}
