import { useState } from "preact/hooks";
import type { SenderJson } from "../../operator/responses.ts";
import { formatCount } from "../../text/counts.ts";
import { withQuery } from "../api.ts";
import { useConsole } from "../console.ts";
import { Panel } from "../parts/content-states.tsx";
import { Button } from "../parts/controls.tsx";
import { useLive } from "../parts/hooks.ts";
import { Link } from "../parts/link.tsx";
import { PlantText } from "../parts/plant-text.tsx";
import { Table } from "../parts/table.tsx";
import { RelativeTime } from "../parts/time.tsx";

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
        <Table
          class="senders wrap"
          aria-labelledby="senders-title"
          columns={["Sender", "Last plant", "Refused"]}
        >
          {listed.map((sender) => (
            <Row key={sender.name} sender={sender} />
          ))}
        </Table>
      )}
    </Panel>
  );
}

interface SenderProps {
  readonly sender: SenderJson;
}

function Row({ sender }: SenderProps) {
  const { session } = useConsole();
  const { name, refusals, lastRefusalAt } = sender;
  const count = formatCount(refusals);
  return (
    <tr>
      <th scope="row">
        <Link href={withQuery("/plants", { token: name })}>
          <PlantText text={name} />
        </Link>
      </th>
      <td>
        <LastPlant sender={sender} />
      </td>
      <td>
        {lastRefusalAt !== undefined && (
          <>
            {session.may("operator") ? (
              <Link href={withQuery("/refused", { token: name })}>{count}</Link>
            ) : (
              count
            )}{" "}
            <span class="note">
              last <RelativeTime at={lastRefusalAt} />
            </span>
          </>
        )}
      </td>
    </tr>
  );
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
