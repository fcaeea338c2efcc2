import type { JsonFrom } from "../../operator/operator-table.ts";
import { formatBytes } from "../../text/sizes.ts";
import { useConsole } from "../console.ts";
import { ErrorNotice, LoadingCard, Panel } from "../parts/content-states.tsx";
import { useLive, useLoad } from "../parts/hooks.ts";
import { Link } from "../parts/link.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Table } from "../parts/table.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { Backups } from "./backups.tsx";

/** The version, the backups, and the settings that someone has changed. */
export function SystemPage() {
  const { me } = useConsole().session;
  const configured = useLoad("/api/settings", {});
  const { value: overview } = useLive("/api/overview", {});
  const { bytes, walBytes } = overview?.store ?? {};
  return (
    <div class="stack">
      <PageHead
        title="System"
        lead={
          overview && (
            <>
              Version <b>{overview.version}</b>
              {bytes !== undefined && `, data file ${formatBytes(bytes)}, WAL ${formatBytes(walBytes ?? 0)}`},
              started <RelativeTime at={overview.startedAt} />
            </>
          )
        }
      >
        <Link class="button" href="/audit">
          Audit
        </Link>
        <a class="button" href={`${me.publicUrl}/docs`}>
          API docs
        </a>
      </PageHead>
      <ErrorNotice error={configured.error} />
      <Backups lastAt={overview?.store.lastBackupAt} />
      {configured.isLoading && <LoadingCard />}
      {configured.value !== undefined && <Settings settings={configured.value.settings} />}
    </div>
  );
}

const sourceLabels: Readonly<Record<string, string>> = {
  flag: "from its flag",
  environment: "from the environment",
  file: "from a file",
};

function Settings({ settings }: { readonly settings: JsonFrom<"GET /api/settings">["settings"] }) {
  const changed = settings.filter(({ source }) => source !== "default");
  return (
    <Panel id="settings-title" title="Changed settings">
      <p class="note">
        {changed.length === 0 ? "Every setting has its default. " : "The others have their defaults. "}
        To change one, set its flag or variable and restart.
      </p>
      {changed.length > 0 && (
        <Table class="settings" aria-labelledby="settings-title" columns={["Setting", "Value"]}>
          {changed.map(({ name, meaning, value, source }) => (
            <tr key={name}>
              <th scope="row">
                <code>{name}</code> <span class="note">{meaning}</span>
              </th>
              <td>
                {value === "" ? <span class="note">none</span> : <code>{value}</code>}{" "}
                <span class="note">{sourceLabels[source] ?? source}</span>
              </td>
            </tr>
          ))}
        </Table>
      )}
    </Panel>
  );
}
