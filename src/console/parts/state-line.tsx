import type { ComponentChildren } from "preact";
import type { OverviewJson } from "../../operator/responses.ts";
import { formatBytes } from "../../text/sizes.ts";
import { RelativeTime } from "./time.tsx";

interface StateLineProps {
  readonly overview: OverviewJson;
  /** What it says if plants can be stored. */
  readonly good: string;
  /** More facts about the store. */
  readonly children: ComponentChildren;
}

/** Whether plants can be stored, on one quiet line with other facts about the store. */
export function StateLine({ overview: { store }, good, children }: StateLineProps) {
  const isBad = !store.ready;
  return (
    <div class={isBad ? "card line note state-line bad" : "card line note state-line"}>
      <span class="line">
        <span class={isBad ? "dot bad" : "dot"} aria-hidden="true" />
        <b>{isBad ? "The service is not ready" : good}</b>
      </span>
      {isBad && <span>See the service's log for the reason.</span>}
      {store.engine !== "sqlite" && <span>In PostgreSQL</span>}
      {children}
    </div>
  );
}

/** Which version is running, and since when. */
export function Release({ overview: { version, startedAt } }: Pick<StateLineProps, "overview">) {
  return (
    <span>
      Version <b>{version}</b>, started <RelativeTime at={startedAt} />
    </span>
  );
}

/** The size of a file; nothing on PostgreSQL, whose files are elsewhere. */
export function Size({ name, bytes }: { readonly name: string; readonly bytes: number | undefined }) {
  if (bytes === undefined) return null;
  return (
    <span>
      {name} <b>{formatBytes(bytes)}</b>
    </span>
  );
}
