import { useEffect, useState } from "preact/hooks";
import { Icon } from "./icons.tsx";

const copiedMs = 1500;

interface CopyButtonProps {
  readonly text: string;
  readonly label: string;
  /** A dialog gives it the focus when it opens. */
  readonly focused?: boolean;
  readonly onCopied?: () => void;
}

export function CopyButton({ text, label, focused, onCopied }: CopyButtonProps) {
  const [copied, setCopied] = useState(false);
  const [failed, setFailed] = useState(false);
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setCopied(true);
      onCopied?.();
    } catch {
      setFailed(true);
    }
  };
  useEffect(() => {
    if (!copied) return;
    const timer = setTimeout(() => setCopied(false), copiedMs);
    return () => clearTimeout(timer);
  }, [copied]);
  // The clipboard is available only on HTTPS and localhost.
  if (navigator.clipboard === undefined) return null;
  return (
    <button type="button" class="quiet" data-focus={focused} onClick={() => void copy()}>
      <Icon name={copied ? "done" : "copy"} />
      <span aria-live="polite">
        {copied ? "Copied" : failed ? "The browser refused; select the text instead" : label}
      </span>
    </button>
  );
}
