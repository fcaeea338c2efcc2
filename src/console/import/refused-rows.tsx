import { formatCount, formatPlural } from "../../text/counts.ts";
import { PlantText } from "../parts/plant-text.tsx";
import { Table } from "../parts/table.tsx";
import { type ImportReport, refusedListedMax } from "./import-report.ts";

const messageCharactersMax = 1000;

interface RefusedRowsProps {
  readonly report: ImportReport;
  readonly title: string;
}

/** The reasons in the order of their first rows, so that none moves while rows are added. Each opens its refused rows. */
export function RefusedRows({ report: { groups, positionUnit }, title }: RefusedRowsProps) {
  return (
    <section aria-labelledby="refused-title">
      <h3 id="refused-title">{title}, by reason</h3>
      {groups.map(({ error, reason, count, listed }) => (
        <details key={`${error} ${reason}`} class="refusal-group">
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
            <Table class="refused-rows" columns={[positionUnit, "Message", "Row"]}>
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
            </Table>
          </section>
        </details>
      ))}
    </section>
  );
}
