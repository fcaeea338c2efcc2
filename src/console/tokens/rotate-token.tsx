import { useId, useState } from "preact/hooks";
import { errorMessage } from "../api.ts";
import type { MintedToken, Token } from "../api-shapes.ts";
import { Dialog } from "../parts/dialog.tsx";
import { useSession } from "../session.ts";

interface RotateTokenProps {
  readonly token: Token;
  readonly onMinted: (minted: MintedToken) => void;
  readonly onClose: () => void;
}

const overlaps = [
  { value: "0s", label: "0 minutes (ends now)" },
  { value: "10m", label: "10 minutes" },
  { value: "1h", label: "1 hour" },
  { value: "1d", label: "1 day" },
  { value: "7d", label: "7 days" },
] as const;
const overlapDefault = "1h";

export function RotateToken({ token, onMinted, onClose }: RotateTokenProps) {
  const { api } = useSession();
  const [overlap, setOverlap] = useState<string>(overlapDefault);
  const [error, setError] = useState<string>();
  const [busy, setBusy] = useState(false);
  const id = useId();
  const rotate = async (): Promise<void> => {
    setBusy(true);
    try {
      onMinted(await api.post<MintedToken>(`/api/tokens/${token.id}/rotate`, { overlap }));
    } catch (reason) {
      setError(errorMessage(reason));
      setBusy(false);
    }
  };
  return (
    <Dialog title={`Rotate “${token.name}”`} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault();
          void rotate();
        }}
      >
        <p>
          The token gets a new secret; its name and scopes stay the same. The old secret can stay valid for a
          while, so that its users have time to switch.
        </p>
        <div class="field">
          <label for={id}>The old secret stays valid for</label>
          <select id={id} value={overlap} onChange={(event) => setOverlap(event.currentTarget.value)}>
            {overlaps.map(({ value, label }) => (
              <option key={value} value={value}>
                {label}
              </option>
            ))}
          </select>
        </div>
        {error !== undefined && (
          <p class="field-error" role="alert">
            {error}
          </p>
        )}
        <footer class="dialog-foot">
          <button type="button" class="quiet" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={busy}>
            Rotate
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
