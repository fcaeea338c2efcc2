import { useId, useState } from "preact/hooks";
import { wordsOf } from "../api.ts";
import type { MintedToken, Token } from "../api-shapes.ts";
import { Dialog } from "../parts/dialog.tsx";
import { useSurroundings } from "../session.ts";

interface RotateTokenProps {
  readonly token: Token;
  readonly onMinted: (minted: MintedToken) => void;
  readonly onClose: () => void;
}

const overlaps = [
  { value: "0s", words: "Not at all: it ends now" },
  { value: "10m", words: "Ten minutes" },
  { value: "1h", words: "One hour" },
  { value: "1d", words: "One day" },
  { value: "7d", words: "Seven days" },
] as const;
const overlapUsual = "1h";

export function RotateToken({ token, onMinted, onClose }: RotateTokenProps) {
  const { api } = useSurroundings();
  const [overlap, setOverlap] = useState<string>(overlapUsual);
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const id = useId();
  const rotate = async (): Promise<void> => {
    setBusy(true);
    try {
      onMinted(await api.post<MintedToken>(`/api/tokens/${token.id}/rotate`, { overlap }));
    } catch (reason) {
      setProblem(wordsOf(reason));
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
          It gets a new secret with the same name and scopes. The old one works a little longer, so that its
          holder has time to change.
        </p>
        <div class="field">
          <label for={id}>The old secret still works for</label>
          <select id={id} value={overlap} onChange={(event) => setOverlap(event.currentTarget.value)}>
            {overlaps.map(({ value, words }) => (
              <option key={value} value={value}>
                {words}
              </option>
            ))}
          </select>
        </div>
        {problem !== undefined && (
          <p class="problem" role="alert">
            {problem}
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
