import type { ComponentChildren } from "preact";
import type { TokenJson } from "../../operator/responses.ts";
import { Button } from "../parts/controls.tsx";
import { Link } from "../parts/link.tsx";
import { TableHead } from "../parts/table.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { queryOf, withQuery } from "../query.ts";

interface TokenRow {
  readonly token: TokenJson;
  /** Whether a live token of the same name has replaced it, so that it works only until the end of the overlap. */
  readonly isOld: boolean;
}

interface TokenTableProps {
  readonly rows: readonly TokenRow[];
  readonly onAction: (kind: "rotate" | "revoke", token: TokenJson) => void;
}

const columns = ["Name", "State", "Last used"];
const stateLabels = { live: "Live", expired: "Expired", revoked: "Revoked" } as const;

export function TokenTable({ rows, onAction }: TokenTableProps) {
  return (
    <table class="listed tokens">
      <TableHead columns={columns} actions />
      <tbody>
        {rows.map((row) => (
          <Row key={row.token.id} row={row} onAction={onAction} />
        ))}
      </tbody>
    </table>
  );
}

interface RowProps {
  readonly row: TokenRow;
  readonly onAction: TokenTableProps["onAction"];
}

function Row({ row: { token, isOld }, onAction }: RowProps) {
  const isLive = token.state === "live";
  return (
    <tr class={isOld ? "old" : token.state}>
      <th scope="row">
        <TwoLines>
          {isOld ? (
            // It has the name of its successor, which stands above it.
            <span>
              <span class="visually-hidden">{token.name}: </span>
              old secret
            </span>
          ) : (
            <Link href={withQuery("/plants", queryOf({ token: token.name }))}>{token.name}</Link>
          )}
          <span class="identity">
            <code class="note">{token.id}</code>
            {/* An old secret has the scopes of its successor, which stands above it. */}
            {!isOld &&
              token.scopes.map((scope) => (
                <span key={scope} class="tag plain">
                  {scope}
                </span>
              ))}
          </span>
        </TwoLines>
      </th>
      <td class="validity">
        <TwoLines>
          <span class={`state ${token.state}`}>{stateLabels[token.state]}</span>
          <span class="note">
            <Expiry token={token} />
          </span>
        </TwoLines>
      </td>
      <td class="used">
        <TwoLines>
          {token.lastUsedAt === undefined ? (
            <span class="note">not used yet</span>
          ) : (
            <RelativeTime at={token.lastUsedAt} />
          )}
          <span class="note">
            created <RelativeTime at={token.createdAt} />
          </span>
        </TwoLines>
      </td>
      <td class="row-actions">
        {isLive && !isOld && (
          <Button onClick={() => onAction("rotate", token)}>
            Rotate<span class="visually-hidden"> {token.name}</span>
          </Button>
        )}
        {isLive && (
          <Button onClick={() => onAction("revoke", token)}>
            Revoke
            <span class="visually-hidden">
              {isOld && " the old secret of"} {token.name}
            </span>
          </Button>
        )}
      </td>
    </tr>
  );
}

/** One line over the other. */
function TwoLines({ children }: { readonly children: ComponentChildren }) {
  return <span class="two-lines">{children}</span>;
}

/** When the token expires, or when it stopped working. */
function Expiry({ token: { state, expiresAt, revokedAt } }: Pick<TokenRow, "token">) {
  if (state === "revoked" && revokedAt !== undefined) return <RelativeTime at={revokedAt} />;
  if (expiresAt === undefined) return "never expires";
  if (state === "expired") return <RelativeTime at={expiresAt} />;
  return (
    <>
      expires <RelativeTime at={expiresAt} />
    </>
  );
}

/** The live tokens, each followed by its old secrets. */
export function liveRows(oldestFirst: readonly TokenJson[]): readonly TokenRow[] {
  const live = oldestFirst.filter(({ state }) => state === "live");
  // A name has several live tokens only after a rotation; the newest of them is the successor.
  return [...Map.groupBy(live, ({ name }) => name).values()].flatMap((secrets) =>
    secrets.toReversed().map((token, position) => ({ token, isOld: position > 0 })),
  );
}

/** Those that have expired or were revoked. They stay, because plants refer to them. */
export function endedRows(oldestFirst: readonly TokenJson[]): readonly TokenRow[] {
  return oldestFirst.filter(({ state }) => state !== "live").map((token) => ({ token, isOld: false }));
}
