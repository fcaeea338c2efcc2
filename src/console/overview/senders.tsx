import { useState } from "preact/hooks";
import type { SenderJson } from "../../operator/responses.ts";
import { formatCount } from "../../text/counts.ts";
import { useConsole } from "../console.ts";
import { Button } from "../parts/controls.tsx";
import { useLive } from "../parts/hooks.ts";
import { Link } from "../parts/link.tsx";
import { Panel } from "../parts/panel.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { TableHead } from "../parts/table.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { queryOf, withQuery } from "../query.ts";
import { refusalsHref } from "../refused/refusal-filter.ts";

// As many as there are latest plants beside them.
const listedFirst = 10;

/** Who sends plants, who stopped, and who is refused. */
export function Senders() {
  const { value } = useLive("/api/senders", {});
  const [isAllShown, setIsAllShown] = useState(false);
  const senders = value?.senders ?? [];
  const listed = isAllShown ? senders : senders.slice(0, listedFirst);
  return (
    <Panel
      id="senders-title"
      title="Senders"
      loading={value === undefined}
      aside={
        senders.length > listedFirst && (
          <Button aria-expanded={isAllShown} onClick={() => setIsAllShown(!isAllShown)}>
            {isAllShown ? "Show fewer" : `Show all ${formatCount(senders.length)}`}
          </Button>
        )
      }
    >
      {senders.length === 0 ? (
        <p class="note">Nobody has sent anything since the start.</p>
      ) : (
        <table class="listed senders" aria-labelledby="senders-title">
          <TableHead columns={["Sender", "Last plant", "Refused"]} />
          <tbody>
            {listed.map((sender) => (
              <tr key={sender.name}>
                <th scope="row">
                  <Link href={withQuery("/plants", queryOf({ token: sender.name }))}>
                    <PlantText text={sender.name} />
                  </Link>
                </th>
                <td>
                  <LastPlant sender={sender} />
                </td>
                <td>
                  <Refusals sender={sender} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </Panel>
  );
}

interface SenderProps {
  readonly sender: SenderJson;
}

function LastPlant({ sender: { lastPlantAt, lastUsedAt, refusals } }: SenderProps) {
  if (lastPlantAt !== undefined) return <RelativeTime at={lastPlantAt} />;
  if (lastUsedAt === undefined)
    return <span class="note">{refusals > 0 ? "none since the start" : "not used yet"}</span>;
  return (
    <span class="note">
      last used <RelativeTime at={lastUsedAt} />
    </span>
  );
}

function Refusals({ sender: { name, refusals, lastRefusalAt } }: SenderProps) {
  const { session } = useConsole();
  if (lastRefusalAt === undefined) return null;
  const count = formatCount(refusals);
  return (
    <>
      {session.may("operator") ? <Link href={refusalsHref({ token: name })}>{count}</Link> : count}{" "}
      <span class="note">
        last <RelativeTime at={lastRefusalAt} />
      </span>
    </>
  );
}
