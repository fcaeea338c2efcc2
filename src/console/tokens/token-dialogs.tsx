import type { MintedTokenJson, TokenJson } from "../../operator/responses.ts";
import { dayMs } from "../../text/duration.ts";
import { useConsole } from "../console.ts";
import { formatShortTime, formatTime } from "../format-time.ts";
import { Button, CopyButton, Field, type Option, Select } from "../parts/controls.tsx";
import { Dialog, FormDialog } from "../parts/dialog.tsx";
import type { Scope } from "../session.ts";

const scopes: Readonly<Record<Scope, string>> = {
  "plants:create": "Create plants. For programs that send them.",
  "plants:read": "Read plants: search, export and follow them. For programs that copy them.",
  "operator:read": "Also see how the service does, on the overview.",
  metrics: "Read the metrics. For Prometheus.",
  operator: "Everything here: also manage tokens, with any scope, and read the audit trail.",
};
const scopeList = Object.entries(scopes) as [Scope, string][];
const lifetimes = {
  "1d": "After 1 day",
  "30d": "After 30 days",
  "90d": "After 90 days",
  "365d": "After 1 year",
} as const;
const overlaps = {
  "0s": "0 minutes (ends now)",
  "10m": "10 minutes",
  "1h": "1 hour",
  "1d": "1 day",
  "7d": "7 days",
} as const;

interface DialogProps {
  /** Called once it is done. The secret of a new token is then shown in a dialog of its own. */
  readonly onDone: () => void;
  readonly onClose: () => void;
}

interface TokenDialogProps extends DialogProps {
  readonly token: TokenJson;
}

export function CreateToken({ onDone, onClose }: DialogProps) {
  const { api, session } = useConsole();
  const create = async (entered: FormData): Promise<void> => {
    const name = String(entered.get("name"));
    const scopes = entered.getAll("scopes") as Scope[];
    if (scopes.length === 0) throw new Error("Choose at least one scope.");
    const expiresIn = String(entered.get("expiresIn")) || undefined;
    session.showSecret(await api.post("/api/tokens", { name, scopes, expiresIn }));
    onDone();
  };
  return (
    <FormDialog title="Create a token" submit="Create token" onSubmit={create} onClose={onClose}>
      <Field
        label="Name"
        name="name"
        hint="Who uses it, such as “greenhouse”. The name is stored with each plant that the token creates."
      />
      <fieldset>
        <legend>Scopes</legend>
        {scopeList.map(([scope, description]) => (
          <label key={scope} class="check">
            <input type="checkbox" name="scopes" value={scope} defaultChecked={scope === "plants:create"} />
            <span>
              <strong>{scope}</strong>
              <span class="note">{description}</span>
            </span>
          </label>
        ))}
      </fieldset>
      <Select label="Expires" name="expiresIn" options={lifetimesUntil(session.me.tokensExpireBy)} value="" />
    </FormDialog>
  );
}

/** The lifetimes that end before the latest possible expiry, and that expiry itself. */
function lifetimesUntil(latest: string | undefined): readonly Option[] {
  const all = Object.entries(lifetimes);
  if (latest === undefined) return [["", "Never"], ...all];
  const daysMax = (Date.parse(latest) - Date.now()) / dayMs;
  const shorter = all.filter(([days]) => Number.parseInt(days, 10) < daysMax);
  return [["", `Latest: ${formatShortTime(latest)}`], ...shorter];
}

export function RotateToken({ token, onDone, onClose }: TokenDialogProps) {
  const { api, session } = useConsole();
  const rotate = async (entered: FormData): Promise<void> => {
    const overlap = String(entered.get("overlap"));
    session.showSecret(await api.post("/api/tokens/{id}/rotate", { id: token.id, overlap }));
    onDone();
  };
  return (
    <FormDialog title={`Rotate “${token.name}”`} submit="Rotate" onSubmit={rotate} onClose={onClose}>
      <p>
        The token gets a new secret; its name and scopes stay the same. The old secret can stay valid for a
        while, so that its users have time to switch.
      </p>
      <Select
        label="The old secret stays valid for"
        name="overlap"
        options={Object.entries(overlaps)}
        value="1h"
      />
    </FormDialog>
  );
}

interface RevokeTokenProps extends TokenDialogProps {
  /** All of them. */
  readonly tokens: readonly TokenJson[];
}

export function RevokeToken({ token, tokens, onDone, onClose }: RevokeTokenProps) {
  const { api, session } = useConsole();
  const operators = tokens.filter(({ state, scopes }) => state === "live" && scopes.includes("operator"));
  const isLastOperator = operators.length === 1 && operators[0]?.id === token.id;
  const revoke = async (): Promise<void> => {
    await api.post("/api/tokens/{id}/revoke", { id: token.id });
    onDone();
  };
  return (
    <FormDialog title={`Revoke “${token.name}”?`} submit="Revoke" danger onSubmit={revoke} onClose={onClose}>
      <p>
        The token <strong>{token.name}</strong> (<code>{token.id}</code>) stops working within a second. This
        cannot be undone. Its plants stay stored.
      </p>
      {token.id === session.me.tokenId && (
        <p class="notice">You are signed in with this token, and will be signed out.</p>
      )}
      {isLastOperator && (
        <p class="notice">
          It is the last live token with the scope “operator”. Without one, tokens are created on the command
          line.
        </p>
      )}
    </FormDialog>
  );
}

/** Shows a new secret, once: only the button that confirms it is saved closes the dialog, and no key pressed by mistake. */
export function SecretOnce(props: { readonly minted: MintedTokenJson; readonly onClose: () => void }) {
  const { token, secret, oldUntil } = props.minted;
  return (
    <Dialog title={`Secret of “${token.name}”`}>
      <div class="stack">
        <p>Copy it now. The store keeps only a hash, so it cannot be shown again.</p>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the dialog focuses it, so that no key closes it by mistake */}
        <pre class="code secret" tabIndex={0}>
          {secret}
        </pre>
        <div class="line">
          <CopyButton text={secret} label="Copy secret" />
        </div>
        {token.expiresAt !== undefined && <p class="note">It expires on {formatTime(token.expiresAt)}.</p>}
        {oldUntil !== undefined && <p class="note">The old secret is valid until {formatTime(oldUntil)}.</p>}
        <footer class="line dialog-foot">
          <Button class="primary" onClick={props.onClose}>
            I have saved it
          </Button>
        </footer>
      </div>
    </Dialog>
  );
}
