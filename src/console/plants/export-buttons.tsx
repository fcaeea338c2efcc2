import { useState } from "preact/hooks";
import { errorMessage } from "../api.ts";
import { download } from "../parts/download.ts";
import { Icon } from "../parts/icons.tsx";
import { Popover } from "../parts/popover.tsx";
import { useSession } from "../session.ts";
import { apiFilter, isFiltered, type PlantFilter } from "./plant-filter.ts";

const formats = [
  { format: "ndjson", name: "NDJSON", note: "One JSON object per line, exact." },
  // Most people open an exported CSV in a spreadsheet, which would run a plant's name as a formula.
  { format: "csv-safe", name: "CSV", note: "For spreadsheets; runs no formula." },
] as const;

/** Exports the plants that match the filter. The browser streams the file to disk. */
export function ExportButtons({ filter }: { readonly filter: PlantFilter }) {
  const { api, announce } = useSession();
  const [error, setError] = useState<string>();
  const start = async (format: string): Promise<void> => {
    try {
      const { url } = await api.post<{ url: string }>("/api/exports", {
        format,
        ...apiFilter(filter, Date.now()),
      });
      setError(undefined);
      announce("The download has started.");
      download(url);
    } catch (reason) {
      setError(errorMessage(reason));
    }
  };
  const scope = isFiltered(filter) ? "Plants that match" : "All plants";
  return (
    <>
      {error !== undefined && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
      <Popover
        class="end"
        buttonClass="quiet"
        panelClass="menu"
        label={
          <>
            <Icon name="export" /> Export
          </>
        }
      >
        {(close) => (
          <>
            <p class="menu-title">{scope}</p>
            {formats.map(({ format, name, note }) => (
              <button
                key={format}
                type="button"
                onClick={() => {
                  close();
                  void start(format);
                }}
              >
                <span>
                  <span class="visually-hidden">{scope} as </span>
                  {name}
                </span>{" "}
                <span class="note">{note}</span>
              </button>
            ))}
          </>
        )}
      </Popover>
    </>
  );
}
