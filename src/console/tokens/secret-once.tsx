import type { MintedToken } from "../api-shapes.ts";
import { formatTime } from "../format.ts";
import { CopyButton } from "../parts/copy-button.tsx";
import { Dialog } from "../parts/dialog.tsx";

/** Shows a new secret, once. */
export function SecretOnce({
  minted,
  onClose,
}: {
  readonly minted: MintedToken;
  readonly onClose: () => void;
}) {
  const { token, secret, oldUntil } = minted;
  return (
    <Dialog title={`Secret of “${token.name}”`} onClose={onClose}>
      <p>Copy it now. The store keeps only a hash, so it cannot be shown again.</p>
      <pre class="code secret">{secret}</pre>
      <div class="actions">
        <CopyButton text={secret} label="Copy secret" />
      </div>
      {token.expiresAt !== undefined && <p class="note">It expires on {formatTime(token.expiresAt)}.</p>}
      {oldUntil !== undefined && <p class="note">The old secret is valid until {formatTime(oldUntil)}.</p>}
      <footer class="dialog-foot">
        <button type="button" class="primary" onClick={onClose}>
          I have saved it
        </button>
      </footer>
    </Dialog>
  );
}
