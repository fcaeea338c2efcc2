import type { RefObject } from "preact";
import type { AuditEntryJson } from "../../operator/responses.ts";
import { Button, Select } from "../parts/controls.tsx";
import { FilterChips, FilterPanel, TimeFields, TokenNameField } from "../parts/filter-panel.tsx";
import { formatFilterTime } from "../parts/filter-times.ts";

/** The filter in the address bar, with the names of the operator API's parameters; empty if it does not matter. */
export interface AuditListFilter {
  readonly action: string;
  readonly actor: string;
  /** The times are ISO 8601 in UTC. What cannot be read stays as it is in the address, where the service refuses it. */
  readonly since: string;
  readonly until: string;
}

export const noFilter: AuditListFilter = { action: "", actor: "", since: "", until: "" };

export function readAuditFilter(query: URLSearchParams): AuditListFilter {
  return {
    action: query.get("action") ?? "",
    actor: query.get("actor") ?? "",
    since: query.get("since") ?? "",
    until: query.get("until") ?? "",
  };
}

const actionLabels: Readonly<Record<AuditEntryJson["action"], string>> = {
  "token.created": "Created a token",
  "token.rotated": "Rotated a token",
  "token.revoked": "Revoked a token",
  "token.copied": "Copied a token",
  "store.copied": "Copied the store",
  "console.signed-in": "Signed in",
  "export.started": "Exported plants",
  "follow.started": "Read plants from the beginning",
  "import.started": "Started to import a file",
  "import.finished": "Imported a file",
  "import.stopped": "Stopped an import",
  "import.failed": "Failed to import a file",
  "backup.created": "Started a backup",
  "backup.failed": "Failed to make a backup",
  "backup.verified": "Started to verify a backup",
  "backup.downloaded": "Downloaded a backup",
};

interface AuditFiltersProps {
  readonly filter: AuditListFilter;
  readonly onChange: (filter: AuditListFilter) => void;
}

interface AuditFilterPanelProps extends AuditFiltersProps {
  readonly buttonRef: RefObject<HTMLButtonElement | null>;
}

export function AuditFilterPanel({ buttonRef, filter, onChange }: AuditFilterPanelProps) {
  return (
    <search>
      <FilterPanel
        buttonRef={buttonRef}
        onApply={({ actor = "", ...entered }) => onChange({ ...noFilter, ...entered, actor: actor.trim() })}
      >
        <Select
          label="Action"
          name="action"
          options={[["", "Any"], ...Object.entries(actionLabels)]}
          value={filter.action}
        />
        <TokenNameField
          label="By"
          name="actor"
          hint="The name of a token, or os: and a user."
          defaultValue={filter.actor}
        />
        <TimeFields since={filter.since} until={filter.until} />
      </FilterPanel>
    </search>
  );
}

/** A chip for each filter that is set, and a button that removes them all. */
export function AuditFilterChips({ filter, onChange }: AuditFiltersProps) {
  const labels: Readonly<Record<string, string>> = actionLabels;
  return (
    <div class="line filters">
      <FilterChips
        filters={[
          { label: "Action", value: labels[filter.action] ?? filter.action, without: { action: "" } },
          { label: "By", value: filter.actor, without: { actor: "" } },
          { label: "From", value: formatFilterTime(filter.since), without: { since: "" } },
          { label: "Before", value: formatFilterTime(filter.until), without: { until: "" } },
        ]}
        onRemove={(change) => onChange({ ...filter, ...change })}
      />
      <Button class="bare" onClick={() => onChange(noFilter)}>
        Clear
      </Button>
    </div>
  );
}
