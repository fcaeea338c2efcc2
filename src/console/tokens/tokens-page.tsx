import { useState } from "preact/hooks";
import type { TokenJson } from "../../operator/responses.ts";
import { formatPlural } from "../../text/counts.ts";
import { withQuery } from "../api.ts";
import { useConsole } from "../console.ts";
import { EmptyState, ErrorNotice, LoadingCard } from "../parts/content-states.tsx";
import { Button } from "../parts/controls.tsx";
import { useLive } from "../parts/hooks.ts";
import { Icon } from "../parts/icons.tsx";
import { Link } from "../parts/link.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Table } from "../parts/table.tsx";
import { RelativeTime } from "../parts/time.tsx";
import { CreateToken, RevokeToken, RotateToken } from "./token-dialogs.tsx";

type TokenAction = { readonly kind: "rotate" | "revoke"; readonly token: TokenJson };

/** The live tokens, and under them those that have ended. */
export function TokensPage() {
  const { me } = useConsole().session;
  const [dialog, setDialog] = useState<{ readonly kind: "create" } | TokenAction>();
  const { value, error, isLoading, reload } = useLive("/api/tokens", {});
  const [notice, setNotice] = useState<string>();
  const tokens = value?.tokens ?? [];
  const ended = tokens.filter(({ state }) => state !== "live");
  const close = (): void => setDialog(undefined);
  const onDone = (done?: string): void => {
    setNotice(done);
    close();
    reload();
  };
  return (
    <>
      <PageHead
        title="Tokens"
        lead="Programs send plants with a token; people sign in with one. Each plant has the name of the token that created it."
      >
        <Link class="button" href="/audit">
          Audit
        </Link>
        <Button class="primary" onClick={() => setDialog({ kind: "create" })}>
          <Icon name="plus" /> Create a token
        </Button>
      </PageHead>
      <ErrorNotice error={error} />
      <div role="status">{notice !== undefined && <p class="notice">{notice}</p>}</div>
      <div class="stack">
        {isLoading && <LoadingCard />}
        {value?.tokens.length === 0 && (
          <EmptyState title="No tokens yet">
            <p>
              You are signed in as “{me.name}”. Create a token for each program that sends plants, so that
              each can be identified and revoked.
            </p>
          </EmptyState>
        )}
        {ended.length < tokens.length && (
          <div class="card">
            <TokenTable rows={liveRows(tokens)} onAction={setDialog} />
          </div>
        )}
        {ended.length > 0 && (
          <details class="card ended">
            <summary>{formatPlural(ended.length, "ended token")}</summary>
            <TokenTable rows={ended.map((token) => ({ token, isOld: false }))} onAction={setDialog} />
          </details>
        )}
      </div>
      {dialog?.kind === "create" && <CreateToken onDone={onDone} onClose={close} />}
      {dialog?.kind === "rotate" && <RotateToken token={dialog.token} onDone={onDone} onClose={close} />}
      {dialog?.kind === "revoke" && (
        <RevokeToken
          token={dialog.token}
          tokens={tokens}
          onDone={() => onDone(`The token ${dialog.token.name} was revoked.`)}
          onClose={close}
        />
      )}
    </>
  );
}

interface TokenRow {
  readonly token: TokenJson;
  /** Whether a live token of the same name has replaced it, so that it works only until the end of the overlap. */
  readonly isOld: boolean;
}

/** The live tokens, each followed by its old secrets. */
function liveRows(oldestFirst: readonly TokenJson[]): readonly TokenRow[] {
  const live = oldestFirst.filter(({ state }) => state === "live");
  // A name has several live tokens only after a rotation; the newest of them is the successor.
  return [...Map.groupBy(live, ({ name }) => name).values()].flatMap((secrets) =>
    secrets.toReversed().map((token, position) => ({ token, isOld: position > 0 })),
  );
}

interface TokenTableProps {
  readonly rows: readonly TokenRow[];
  readonly onAction: (action: TokenAction) => void;
}

function TokenTable({ rows, onAction }: TokenTableProps) {
  return (
    <Table class="tokens" columns={["Name", "Validity", "Last used"]} actions>
      {rows.map((row) => (
        <Row key={row.token.id} row={row} onAction={onAction} />
      ))}
    </Table>
  );
}

interface RowProps {
  readonly row: TokenRow;
  readonly onAction: TokenTableProps["onAction"];
}

function Row({ row: { token, isOld }, onAction }: RowProps) {
  const { id, name, scopes, state, lastUsedAt } = token;
  return (
    <tr class={isOld ? "old" : state}>
      <th scope="row">
        {isOld ? (
          // It has the name and the scopes of its successor, which stands above it.
          <>
            <span class="visually-hidden">{name}: </span>
            old secret
          </>
        ) : (
          <Link href={withQuery("/plants", { token: name })}>{name}</Link>
        )}
        <span class="identity">
          <code class="note">{id}</code>
          {!isOld &&
            scopes.map((scope) => (
              <span key={scope} class="tag plain">
                {scope}
              </span>
            ))}
        </span>
      </th>
      <td class="validity">
        <Validity token={token} />
      </td>
      <td class="used">{lastUsedAt === undefined ? "not used yet" : <RelativeTime at={lastUsedAt} />}</td>
      <td class="row-actions">
        {state === "live" && !isOld && (
          <Button onClick={() => onAction({ kind: "rotate", token })}>
            Rotate<span class="visually-hidden"> {name}</span>
          </Button>
        )}
        {state === "live" && (
          <Button onClick={() => onAction({ kind: "revoke", token })}>
            Revoke
            <span class="visually-hidden">
              {isOld && " the old secret of"} {name}
            </span>
          </Button>
        )}
      </td>
    </tr>
  );
}

/** When the token expires, or when it ended. */
function Validity({ token: { state, expiresAt, revokedAt } }: Pick<TokenRow, "token">) {
  if (state === "revoked" && revokedAt !== undefined)
    return (
      <>
        revoked <RelativeTime at={revokedAt} />
      </>
    );
  if (expiresAt === undefined) return "never expires";
  return (
    <>
      {state === "live" ? "expires" : "expired"} <RelativeTime at={expiresAt} />
    </>
  );
}
