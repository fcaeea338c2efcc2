import { useId, useRef, useState } from "preact/hooks";
import { errorMessage } from "../api.ts";
import type { MintedToken } from "../api-shapes.ts";
import { Dialog } from "../parts/dialog.tsx";
import { useDraft } from "../parts/draft.ts";
import { Field } from "../parts/field.tsx";
import { useSession } from "../session.ts";

interface CreateTokenProps {
  readonly onMinted: (minted: MintedToken) => void;
  readonly onClose: () => void;
}

interface FieldError {
  readonly field: "name" | "scopes" | "rateLimit";
  readonly message: string;
}

const scopes = [
  { scope: "plants:create", description: "Create plants. For programs that send them." },
  { scope: "operator:read", description: "Use this console and its API to view, search and export plants." },
  { scope: "metrics", description: "Read the metrics. For Prometheus." },
  {
    scope: "operator",
    description: "Everything here: also manage tokens, with any scope, and read the audit trail.",
  },
] as const;
const lifetimes = [
  { value: "", label: "Never" },
  { value: "1d", label: "After 1 day" },
  { value: "30d", label: "After 30 days" },
  { value: "90d", label: "After 90 days" },
  { value: "365d", label: "After 1 year" },
] as const;

export const createTokenDraft = "create-token";
const empty = { name: "", chosen: ["plants:create"] as readonly string[], expiresIn: "", rateLimit: "" };

export function CreateToken({ onMinted, onClose }: CreateTokenProps) {
  const { api, me } = useSession();
  const draft = useDraft(createTokenDraft, empty);
  const { name, chosen, expiresIn, rateLimit } = draft.value;
  const change = (changed: Partial<typeof empty>): void => {
    draft.set({ ...draft.value, ...changed });
    setError(undefined);
  };
  const close = (): void => {
    draft.discard();
    onClose();
  };
  const [error, setError] = useState<FieldError>();
  const [busy, setBusy] = useState(false);
  const lifetimeId = useId();
  const form = useRef<HTMLFormElement>(null);
  const create = async (): Promise<void> => {
    if (chosen.length === 0) return setError({ field: "scopes", message: "Choose at least one scope." });
    setBusy(true);
    try {
      const request = {
        name,
        scopes: chosen,
        ...(expiresIn === "" ? {} : { expiresIn }),
        ...(rateLimit.trim() === "" ? {} : { rateLimit: rateLimit.trim() }),
      };
      const minted = await api.post<MintedToken>("/api/tokens", request);
      draft.discard();
      onMinted(minted);
    } catch (reason) {
      const message = errorMessage(reason);
      const field = message.startsWith('Field "rateLimit"') ? "rateLimit" : "name";
      setError({ field, message });
      setBusy(false);
      // The button was disabled meanwhile, and so lost the focus.
      form.current?.querySelector<HTMLInputElement>(`[name=${field}]`)?.focus();
    }
  };
  return (
    <Dialog title="Create a token" onClose={close}>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void create();
        }}
      >
        <Field
          label="Name"
          name="name"
          autocomplete="off"
          hint="Who uses it, such as “greenhouse”. The name is stored with each plant that the token creates."
          value={name}
          error={error?.field === "name" ? error.message : undefined}
          onInput={(event) => change({ name: event.currentTarget.value })}
        />
        <fieldset>
          <legend>Scopes</legend>
          {scopes.map(({ scope, description }) => (
            <label key={scope} class="check">
              <input
                type="checkbox"
                checked={chosen.includes(scope)}
                onChange={(event) => {
                  const others = chosen.filter((other) => other !== scope);
                  change({ chosen: event.currentTarget.checked ? [...others, scope] : others });
                }}
              />
              <span>
                <strong>{scope}</strong>
                <span class="hint">{description}</span>
              </span>
            </label>
          ))}
          {error?.field === "scopes" && (
            <p class="field-error" role="alert">
              {error.message}
            </p>
          )}
        </fieldset>
        <div class="field">
          <label for={lifetimeId}>Expires</label>
          <select
            id={lifetimeId}
            value={expiresIn}
            onChange={(event) => change({ expiresIn: event.currentTarget.value })}
          >
            {lifetimes.map(({ value, label }) => (
              <option key={value} value={value}>
                {value === "" && me.expiresAt !== undefined ? "With your own token" : label}
              </option>
            ))}
          </select>
        </div>
        <Field
          label="Rate limit"
          optional
          name="rateLimit"
          autocomplete="off"
          placeholder="100/s"
          hint="Creates per second, minute or hour (s, m or h), in place of the service's own limit."
          value={rateLimit}
          error={error?.field === "rateLimit" ? error.message : undefined}
          onInput={(event) => change({ rateLimit: event.currentTarget.value })}
        />
        <footer class="dialog-foot">
          <button type="button" class="quiet" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={busy}>
            Create token
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
