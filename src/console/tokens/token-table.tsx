import type { ComponentChildren } from "preact";
import type { TokenJson } from "../../operator/responses.ts";
import { formatMinute } from "../format.ts";
import { Button } from "../parts/controls.tsx";
import { TableHead } from "../parts/table-head.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { Link } from "../router.tsx";
import { type TokenRow, tokenRows } from "./token-rows.ts";

interface TokenTableProps {
  readonly tokens: readonly TokenJson[];
  readonly onAction: (kind: "rotate" | "revoke", token: TokenJson) => void;
}

const columns = ["Name", "Scopes", "State", "Last used"];
const stateLabels = { live: "Live", expired: "Expired", revoked: "Revoked" } as const;

/** Live tokens first, each with its old secrets under it. Expired and revoked ones stay, because plants refer to them. */
export function TokenTable({ tokens, onAction }: TokenTableProps) {
  return (
    <div class="card">
      <table class="listed tokens">
        <TableHead columns={columns} actions />
        <tbody>
          {tokenRows(tokens).map((row) => (
            <Row key={row.token.id} row={row} onAction={onAction} />
          ))}
        </tbody>
      </table>
    </div>
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
      {isOld ? <OldSecret token={token} /> : <NameAndScopes token={token} />}
      <td>
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
            <span class="note">not yet</span>
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

interface TokenProps {
  readonly token: TokenJson;
}

function NameAndScopes({ token: { id, name, scopes, lastUsedAt } }: TokenProps) {
  return (
    <>
      <th scope="row">
        <TwoLines>
          <Link href={`/plants?${new URLSearchParams({ token: name })}`} title={`Show the plants of ${name}`}>
            {name}
          </Link>
          <code class="note">{id}</code>
        </TwoLines>
      </th>
      <td class="scopes" title={scopes.join(", ")}>
        <TwoLines>
          <span>
            {scopes.map((scope) => (
              <span key={scope} class="tag plain">
                {scope}
              </span>
            ))}
          </span>
          {/* Where its own column does not fit. */}
          <span class="note used-here">
            {lastUsedAt === undefined ? "not used yet" : "last used "}
            {lastUsedAt !== undefined && <RelativeTime at={lastUsedAt} />}
          </span>
        </TwoLines>
      </td>
    </>
  );
}

/** It has the name and the scopes of its successor, which stands above it. */
function OldSecret({ token: { id, name, expiresAt } }: TokenProps) {
  return (
    <th scope="row" colSpan={2}>
      <TwoLines>
        <span>
          <span class="visually-hidden">{name}: </span>
          old secret{expiresAt !== undefined && `, valid until ${formatMinute(expiresAt)}`}
        </span>
        <code class="note">{id}</code>
      </TwoLines>
    </th>
  );
}

/** One line over the other, each cut where its column ends, so that every row has the same height. */
function TwoLines({ children }: { readonly children: ComponentChildren }) {
  return <span class="two-lines">{children}</span>;
}

/** When the token expires, or when it stopped working. */
function Expiry({ token: { state, expiresAt, revokedAt } }: TokenProps) {
  if (state === "revoked" && revokedAt !== undefined) return <RelativeTime at={revokedAt} />;
  if (expiresAt === undefined) return "never expires";
  if (state === "expired") return <RelativeTime at={expiresAt} />;
  return (
    <>
      expires <RelativeTime at={expiresAt} />
    </>
  );
}
