import { useConsole } from "../console.ts";
import { Button, download, FieldError } from "../parts/controls.tsx";
import { useAttempt } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { Popover } from "../parts/popover.tsx";
import { apiFilter, isFiltered, type ListFilter } from "./list-filter.ts";

const formats = [
  { format: "ndjson", name: "NDJSON", note: "One JSON object per line, exact." },
  // Most people open an exported CSV in a spreadsheet, which would run a plant's name as a formula.
  { format: "csv-safe", name: "CSV", note: "For spreadsheets; runs no formula." },
] as const;

/** Exports the plants that match the filter. The browser streams the file to disk. */
export function ExportMenu({ filter }: { readonly filter: ListFilter }) {
  const { api } = useConsole();
  const { error, attempt } = useAttempt();
  const start = (format: string) =>
    attempt(async () => {
      const request = { format, ...apiFilter(filter) };
      const { url } = await api.post("/api/exports", request);
      download(url);
    });
  const scope = isFiltered(filter) ? "Plants that match" : "All plants";
  return (
    <>
      <FieldError error={error} />
      <Popover
        panelClass="menu"
        label={
          <>
            <Icon name="export" /> Export
          </>
        }
      >
        {(close) => (
          <>
            <p class="note">{scope}</p>
            {formats.map(({ format, name, note }) => (
              <Button
                key={format}
                class="item"
                onClick={() => {
                  close();
                  void start(format);
                }}
              >
                <span class="visually-hidden">{scope} as </span>
                {name} <span class="note">{note}</span>
              </Button>
            ))}
          </>
        )}
      </Popover>
    </>
  );
}
