import { useEffect, useState } from "preact/hooks";
import { Icon } from "../parts/icons.tsx";
import { Link } from "../parts/link.tsx";
import { useRouter } from "../router.ts";
import { useSession } from "../session.ts";
import type { ImportRun } from "./import-run.ts";

const pollMs = 400;

interface Indication {
  readonly label: string;
  readonly detail: string;
  readonly state: "running" | "waiting" | "failed";
}

/** On every page but its own: whether an import is running or needs attention. */
export function ImportIndicator() {
  const { importRef } = useSession();
  const { path } = useRouter();
  const [indication, setIndication] = useState<Indication>();
  useEffect(() => {
    const update = (): void => setIndication(indicationOf(importRef.current));
    update();
    const timer = setInterval(update, pollMs);
    return () => clearInterval(timer);
  }, [importRef]);
  if (indication === undefined || path === "/import") return null;
  const { label, detail, state } = indication;
  return (
    <Link href="/import" class={`import-indicator ${state}`} title={label}>
      <Icon name="import" /> <span class="label">{label}</span> <span class="import-share">{detail}</span>
    </Link>
  );
}

function indicationOf(run: ImportRun | undefined): Indication | undefined {
  if (run?.state === "failed") return { label: "Import failed", detail: "", state: "failed" };
  if (run?.state !== "running") return undefined;
  const detail = `${Math.floor(run.share * 100)}%`;
  return run.waiting
    ? { label: "Import waiting", detail, state: "waiting" }
    : { label: "Importing", detail, state: "running" };
}
