import { formatCount, formatPlural } from "../../text/counts.ts";
import { PlantText } from "../parts/plant-text.tsx";
import { TableHead } from "../parts/table.tsx";
import { type ImportReport, type RefusalGroup, refusedListedMax } from "./import-report.ts";

const messageCharactersMax = 1000;

interface RefusedRowsProps {
  readonly report: ImportReport;
  readonly title: string;
  /** Whether more rows may be added. Until then nothing moves, so that a group stays where someone is about to click. */
  readonly isGrowing?: boolean;
}

/** The refused rows by their reason, the most frequent first. */
export function RefusedRows({ report, title, isGrowing }: RefusedRowsProps) {
  const { groups, positionUnit } = report;
  const sorted = isGrowing ? groups : groups.toSorted((one, other) => other.count - one.count);
  return (
    <section aria-labelledby="refused-title">
      <h3 id="refused-title">{title}, by reason</h3>
      {sorted.map((group) => (
        <Group key={`${group.error} ${group.reason}`} group={group} unit={positionUnit} />
      ))}
    </section>
  );
}

/** A reason, which opens the rows that were refused for it. */
function Group({ group, unit }: { readonly group: RefusalGroup; readonly unit: string }) {
  const { error, reason, count, listed } = group;
  return (
    <details class="refusal-group">
      <summary>
        <b class="swatch refused">{formatPlural(count, "row")}</b>{" "}
        <PlantText text={reason} charactersMax={messageCharactersMax} />{" "}
        {error !== undefined && <span class="note">error {error}</span>}
      </summary>
      {count > listed.length && (
        <p class="note">The first {refusedListedMax} are listed here; the download has all of them.</p>
      )}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard */}
      <section class="scroll-box" tabIndex={0} aria-label={reason}>
        <table>
          <TableHead columns={[unit, "Message", "Row"]} />
          <tbody>
            {listed.map(({ position, message, excerpt }) => (
              <tr key={position}>
                <th scope="row">{formatCount(position)}</th>
                <td>
                  <PlantText text={message} charactersMax={messageCharactersMax} />
                </td>
                <td>
                  <code>
                    <PlantText text={excerpt} empty="" />
                  </code>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </section>
    </details>
  );
}
