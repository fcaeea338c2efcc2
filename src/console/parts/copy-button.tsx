import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icons.tsx";

const copiedMs = 1500;

export function CopyButton({ text, label }: { readonly text: string; readonly label: string }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), copiedMs);
    return () => clearTimeout(timer);
  }, [copied]);
  // The clipboard is available only on HTTPS and localhost.
  if (navigator.clipboard === undefined) return null;
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => void navigator.clipboard.writeText(text).then(() => setCopied(true))}
    >
      <Icon name={copied ? "done" : "copy"} />
      <span aria-live="polite">{copied ? "Copied" : label}</span>
    </button>
  );
}
