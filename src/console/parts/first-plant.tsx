import { Link } from "../router.tsx";
import { createScope, hasScope, useSession } from "../session.ts";
import { EmptyState } from "./content-states.tsx";
import { CopyButton } from "./controls.tsx";

/** Says in an empty store how to send the first plant. */
export function FirstPlant() {
  const { me } = useSession();
  const command = [
    `curl ${me.publicUrl}/plants \\`,
    "  -H 'Authorization: Bearer YOUR_TOKEN' \\",
    "  -H 'Content-Type: application/json' \\",
    `  -d '{"id": 1, "name": "Fern", "tag": "indoor"}'`,
  ].join("\n");
  return (
    <EmptyState title="No plants yet">
      <p>Send your first plant, with a token that has the scope “{createScope}”:</p>
      <pre class="code">{command}</pre>
      <div class="line">
        <CopyButton text={command} label="Copy command" />
        {hasScope(me, createScope) && (
          <Link class="button" href="/import">
            Import a file
          </Link>
        )}
      </div>
    </EmptyState>
  );
}
