import { useState } from "preact/hooks";
import type { AuditEntryJson, AuditPageJson } from "../../operator/responses.ts";
import { auditLabels } from "../../text/audit-labels.ts";
import { useConsole } from "../console.ts";
import { EmptyState, ErrorNotice, LoadingCard, NothingListed } from "../parts/content-states.tsx";
import { Button, Select } from "../parts/controls.tsx";
import { apiFilter } from "../parts/filter.ts";
import { FilterField, FilterForm, TimeFields, useFilter } from "../parts/filter-form.tsx";
import { useAttempt, useLoad } from "../parts/hooks.ts";
import { PageHead } from "../parts/page-head.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { Table } from "../parts/table.tsx";
import { ShortTime } from "../parts/time.tsx";

const detailCharactersMax = 700;

/** Who did what, the newest first. */
export function AuditPage() {
  const { filter, search, change } = useFilter();
  return (
    <div class="stack">
      <PageHead
        title="Audit"
        lead="Who did what to tokens, plants and backups. Entries cannot be edited."
        focusedAfter={search}
      />
      <FilterForm>
        <Select
          label="Action"
          options={[["", "Any action"], ...Object.entries(auditLabels)]}
          value={filter["action"] ?? ""}
          onChange={(action) => change({ action })}
        />
        <FilterField label="By" name="actor" />
        <TimeFields />
      </FilterForm>
      <AuditEntries key={search} />
    </div>
  );
}

function AuditEntries() {
  const { api } = useConsole();
  const { filter, search, clear } = useFilter();
  // A time that ends now is that of the first page on every page.
  const [query] = useState(() => apiFilter(filter));
  const { value: newest, error: loadError, isLoading } = useLoad("/api/audit", query);
  const [older, setOlder] = useState<readonly AuditPageJson[]>([]);
  const { isBusy, error: olderError, attempt } = useAttempt();
  const pages = newest === undefined ? [] : [newest, ...older];
  const entries = pages.flatMap((page) => page.entries);
  const next = pages.at(-1)?.next;
  const isEmpty = newest !== undefined && entries.length === 0;
  return (
    <>
      <ErrorNotice error={loadError ?? olderError} />
      {isLoading && <LoadingCard />}
      {isEmpty && search === "" && (
        <EmptyState title="No entries yet">
          <p>The next sign-in, export or token change will appear here.</p>
        </EmptyState>
      )}
      {isEmpty && search !== "" && <NothingListed title="No entries match" onClear={clear} />}
      {entries.length > 0 && (
        <div class="card">
          <Table class="audit" columns={["When", "By", "Action", "What", "Detail", "From"]}>
            {entries.map((entry, position) => (
              // Entries are only added at the end, and two of one millisecond may be equal.
              <Entry key={position} entry={entry} />
            ))}
          </Table>
        </div>
      )}
      {next !== undefined && (
        <p class="line">
          <Button
            disabled={isBusy}
            onClick={() =>
              void attempt(async () => {
                const page = await api.get("/api/audit", { ...query, cursor: next });
                setOlder((known) => [...known, page]);
              })
            }
          >
            Show more
          </Button>
        </p>
      )}
    </>
  );
}

function Entry({ entry }: { readonly entry: AuditEntryJson }) {
  const { at, actor, action, subject, detail, address } = entry;
  return (
    <tr>
      <td>
        <ShortTime at={at} />
      </td>
      <th scope="row">{actor}</th>
      {/* A newer version may have recorded what this one has no label for. */}
      <td>{auditLabels[action] ?? action}</td>
      <td class="wrap">
        <PlantText text={subject} empty="" />
      </td>
      <td class="wrap note">
        <PlantText text={detail} empty="" charactersMax={detailCharactersMax} />
      </td>
      <td class="note">{address ?? "command line"}</td>
    </tr>
  );
}
