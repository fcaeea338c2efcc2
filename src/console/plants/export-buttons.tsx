import { useState } from "preact/hooks";
import { errorMessage } from "../api.ts";
import { download } from "../parts/download.ts";
import { Icon } from "../parts/icons.tsx";
import { useSession } from "../session.ts";
import { apiFilter, isFiltered, type PlantFilter } from "./plant-filter.ts";

// Most who export CSV open it in a spreadsheet, which would run a plant's name as a formula.
const formats = [
  { format: "ndjson", name: "NDJSON" },
  { format: "csv-safe", name: "CSV" },
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
  const scope = isFiltered(filter) ? "matching plants" : "all plants";
  return (
    <>
      {error !== undefined && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
      <span class="export-word">
        <Icon name="export" /> Export
      </span>
      {formats.map(({ format, name }) => (
        <button
          key={format}
          type="button"
          class="quiet"
          aria-label={`Export ${scope} as ${name}`}
          title={`Export ${scope} as ${name}`}
          onClick={() => void start(format)}
        >
          {name}
        </button>
      ))}
    </>
  );
}
