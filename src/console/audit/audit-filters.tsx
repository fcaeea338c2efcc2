import type { AuditEntryJson } from "../../operator/responses.ts";
import { Button, Field } from "../parts/controls.tsx";
import { localTime, timeText, toUtc } from "../parts/filter-times.ts";
import { Icon } from "../parts/icons.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { Popover } from "../parts/popover.tsx";

/** The filter in the address bar, with the names of the operator API's parameters; empty if it does not matter. */
export interface AuditFilter {
  readonly action: string;
  readonly actor: string;
  /** The times are ISO 8601 in UTC. What cannot be read stays as it is in the address, where the service refuses it. */
  readonly since: string;
  readonly until: string;
}

export const noFilter: AuditFilter = { action: "", actor: "", since: "", until: "" };

const actionLabels: Readonly<Record<AuditEntryJson["action"], string>> = {
  "token.created": "Created a token",
  "token.rotated": "Rotated a token",
  "token.revoked": "Revoked a token",
  "token.copied": "Copied a token",
  "console.signed-in": "Signed in",
  "export.started": "Exported plants",
  "follow.started": "Read plants from the beginning",
  "import.started": "Started to import a file",
  "import.finished": "Imported a file",
  "backup.created": "Started a backup",
  "backup.verified": "Started to verify a backup",
  "backup.downloaded": "Downloaded a backup",
};

interface AuditFiltersProps {
  readonly filter: AuditFilter;
  readonly onChange: (filter: AuditFilter) => void;
}

/** A panel with the filters, and a chip for each that is set. */
export function AuditFilters({ filter, onChange }: AuditFiltersProps) {
  const labels: Readonly<Record<string, string>> = actionLabels;
  const set = [
    { label: "Action", value: labels[filter.action] ?? filter.action, without: { action: "" } },
    { label: "By", value: filter.actor, without: { actor: "" } },
    { label: "From", value: timeText(filter.since), without: { since: "" } },
    { label: "Before", value: timeText(filter.until), without: { until: "" } },
  ].filter(({ value }) => value !== "");
  return (
    <search class="line filters">
      <Popover
        buttonClass="quiet"
        panelClass="from-left"
        label={
          <>
            <Icon name="filters" /> Filter
          </>
        }
      >
        {(close) => (
          <FilterForm
            filter={filter}
            onApply={(wanted) => {
              close();
              onChange(wanted);
            }}
          />
        )}
      </Popover>
      {set.map(({ label, value, without }) => (
        <Button key={label} class="chip" onClick={() => onChange({ ...filter, ...without })}>
          <span class="visually-hidden">Remove the filter </span>
          {label}: <PlantText text={value} /> <Icon name="close" />
        </Button>
      ))}
    </search>
  );
}

interface FilterFormProps {
  readonly filter: AuditFilter;
  readonly onApply: (filter: AuditFilter) => void;
}

function FilterForm({ filter, onApply }: FilterFormProps) {
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault();
        const data = new FormData(event.currentTarget);
        const read = (name: string): string => String(data.get(name));
        onApply({
          action: read("action"),
          actor: read("actor").trim(),
          since: toUtc(read("since")),
          until: toUtc(read("until")),
        });
      }}
    >
      <div class="field">
        <label for="audit-action">Action</label>
        <select id="audit-action" name="action">
          <option value="">Any</option>
          {Object.entries(actionLabels).map(([action, label]) => (
            <option key={action} value={action} selected={action === filter.action}>
              {label}
            </option>
          ))}
        </select>
      </div>
      <Field
        label="By"
        name="actor"
        hint="The name of a token, or os: and a user."
        defaultValue={filter.actor}
      />
      <Field label="From" name="since" type="datetime-local" defaultValue={localTime(filter.since)} />
      <Field label="Before" name="until" type="datetime-local" defaultValue={localTime(filter.until)} />
      <Button type="submit">Apply</Button>
    </form>
  );
}
