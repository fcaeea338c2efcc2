import type { Caller } from "../access/scopes.ts";
import { json } from "../http/reply.ts";
import { ActionRecorder } from "./action-recorder.ts";
import { type JsonOf, row } from "./api-route.ts";
import { auditParameters, listAudit } from "./audit.ts";
import { backupHandlers, linkParameters } from "./backups.ts";
import type { CallerTurns } from "./caller-turns.ts";
import type { DownloadLinks } from "./download-links.ts";
import { exportHandlers, exportParameters } from "./exports.ts";
import { countsParameters, importHandlers, importParameters } from "./imports.ts";
import type { OperatorDependencies } from "./operator-dependencies.ts";
import { createOverview } from "./overview.ts";
import type { Sent } from "./parameters.ts";
import { countParameters, listParameters, plantHandlers, plantParameters } from "./plants.ts";
import { listRefusals } from "./refusals.ts";
import { listSenders } from "./senders.ts";
import { presentCaller } from "./sign-in.ts";
import { createParameters, revokeParameters, rotateParameters, tokenHandlers } from "./tokens.ts";

/** The operator API, from which the console has the types of its calls. */
export type OperatorTable = ReturnType<typeof operatorTable>;
type Endpoint = keyof OperatorTable;

/** The paths that support a method. */
export type PathOf<Method extends string> = Endpoint extends infer Each
  ? Each extends `${Method} ${infer Path}`
    ? Path
    : never
  : never;

/** What a client sends to a method and path: the parameters in the path with the others. */
export type SentTo<Target extends string> = Target extends Endpoint
  ? Sent<OperatorTable[Target]["accepted"]>
  : never;

/** The JSON that it gets. */
export type JsonFrom<Target extends string> = Target extends Endpoint ? JsonOf<OperatorTable[Target]> : never;

/**
 * Everything that the operator API serves: method and path, the scope, the parameters, whether it takes turns with the other reads
 * of its caller, and what responds. The overview takes none, so that an operator always sees it: its figures are read in the
 * background.
 */
export function operatorTable(dependencies: OperatorDependencies, turns: CallerTurns, links: DownloadLinks) {
  const { store, tokenUpkeep, publicListener, rateLimit, bodyBytesMax, startedAtMs, effectiveSettings } =
    dependencies;
  const { intake, readiness, events } = dependencies.listenerDependencies;
  const { archive, audit } = store;
  const publicUrl = publicListener.url;

  // The subjects of the API.
  const actions = new ActionRecorder(audit);
  const overview = createOverview({ store, readiness, events, startedAtMs });
  const plants = plantHandlers(archive, actions);
  const exports = exportHandlers(archive, actions, turns, links);
  const imports = importHandlers({ intake, archive, rateLimit, events, actions, lineBytesMax: bodyBytesMax });
  const tokens = tokenHandlers(store.tokens, tokenUpkeep, actions);
  const backups = backupHandlers(dependencies.backups, actions, links, events);
  const present = (caller: Caller) => json(presentCaller(caller, publicUrl, bodyBytesMax));

  return {
    // Who is signed in. A sign-in is sent once for a token that someone has just entered: the audit trail records it.
    "GET /api/me": row("plants:read", {}, ({ caller }) => present(caller)),
    "POST /api/sign-in": row("plants:read", {}, async ({ exchange, caller }) => {
      await actions.record(exchange, caller, "console.signed-in", "console", caller.scopes.join(", "));
      return present(caller);
    }),

    // How the service does.
    "GET /api/overview": row("operator:read", {}, async () => json(await overview(await archive.nowMs()))),
    "GET /api/senders": row("operator:read", {}, async () => {
      // Without its store, the service still knows whom it has heard.
      const stored = await tokenUpkeep.all().catch(() => []);
      return json({ senders: listSenders(events.senders.list(), stored, Date.now()) });
    }),
    "GET /api/refusals": row("operator", {}, () => json(listRefusals(events, publicUrl, startedAtMs))),
    "GET /api/settings": row("operator", {}, () => json({ settings: effectiveSettings })),

    // Plants. An export takes a turn for each of its pages, and an import also needs `operator:read`.
    "GET /api/plants": row("plants:read", listParameters, plants.list, "in turn"),
    "GET /api/plants/count": row("plants:read", countParameters, plants.count, "in turn"),
    "GET /api/plants/{id}": row("plants:read", plantParameters, plants.show, "in turn"),
    "GET /api/export": row("plants:read", exportParameters, exports.send),
    "POST /api/exports": row("plants:read", exportParameters, exports.createLink),
    "POST /api/imports": row("plants:create", importParameters, imports.importPart, "upload"),
    "POST /api/imports/finished": row("plants:create", countsParameters, imports.recordEnd),

    // Tokens, and what was done with them.
    "GET /api/tokens": row("operator", {}, tokens.list),
    "POST /api/tokens": row("operator", createParameters, tokens.create),
    "POST /api/tokens/{id}/revoke": row("operator", revokeParameters, tokens.revoke),
    "POST /api/tokens/{id}/rotate": row("operator", rotateParameters, tokens.rotate),
    "GET /api/audit": row("operator", auditParameters, listAudit(audit), "in turn"),

    // Backups.
    "GET /api/backups": row("operator", {}, backups.list),
    "POST /api/backups": row("operator", {}, backups.create),
    "POST /api/backups/{name}/link": row("operator", linkParameters, backups.createLink),
  };
}
