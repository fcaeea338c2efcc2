import { useConsole } from "../console.ts";
import { Link } from "../parts/link.tsx";
import { EmptyState } from "./content-states.tsx";
import { CopyButton } from "./controls.tsx";

/** Says in an empty store how to send the first plant. */
export function FirstPlant() {
  const { session } = useConsole();
  const command = [
    `curl ${session.me.publicUrl}/plants \\`,
    "  -H 'Authorization: Bearer YOUR_TOKEN' \\",
    "  -H 'Content-Type: application/json' \\",
    `  -d '{"id": 1, "name": "Fern", "tag": "indoor"}'`,
  ].join("\n");
  return (
    <EmptyState title="No plants yet">
      <p>Send your first plant, with a token that has the scope “plants:create”:</p>
      <pre class="code">{command}</pre>
      <div class="line">
        <CopyButton text={command} label="Copy command" />
        {session.mayImport && (
          <Link class="button" href="/import">
            Import a file
          </Link>
        )}
      </div>
    </EmptyState>
  );
}
