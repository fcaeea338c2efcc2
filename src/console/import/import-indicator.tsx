import { useEffect, useState } from "preact/hooks";
import { Link } from "../parts/link.tsx";
import { useRouter } from "../router.ts";
import { useSession } from "../session.ts";

const pollMs = 400;

/** On every page but its own: that an import is running, or that it needs attention. */
export function ImportIndicator() {
  const { importRef } = useSession();
  const { path } = useRouter();
  const [text, setText] = useState<string>();
  useEffect(() => {
    const update = (): void => {
      const run = importRef.current;
      if (run?.state === "running")
        setText(run.waiting ? "Import waiting" : `Importing, ${Math.floor(run.share * 100)}%`);
      else if (run?.state === "failed") setText("Import failed");
      else setText(undefined);
    };
    update();
    const timer = setInterval(update, pollMs);
    return () => clearInterval(timer);
  }, [importRef]);
  if (text === undefined || path === "/import") return null;
  return (
    <Link href="/import" class="import-indicator">
      {text}
    </Link>
  );
}
