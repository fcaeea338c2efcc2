import type { Gate } from "../access/gate.ts";
import { HttpError } from "../http/http-error.ts";
import { jsonContent } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import type { Backups } from "./backups.ts";
import { pathParameter, readBody } from "./parameters.ts";

interface Parts {
  readonly backups: Backups;
  readonly gate: Gate;
}

const name = pathParameter("name", "The name of the backup's file.");
const success = (status: number, description: string) => ({
  status,
  description,
  content: jsonContent("Backups"),
});

const listBackups: Route<Parts> = {
  method: "GET",
  path: "/api/backups",
  scope: "operator",
  operation: {
    operationId: "listBackups",
    tags: ["service"],
    summary: "Lists the backups in --backup-folder, the newest first, and what is being done with them.",
    success: success(200, "The backups."),
  },
  handler: (parts) => (exchange) => exchange.json(parts.backups.present()),
};

const createBackup: Route<Parts> = {
  method: "POST",
  path: "/api/backups",
  scope: "operator",
  operation: {
    operationId: "createBackup",
    tags: ["service"],
    summary: "Starts a backup of the data file. listBackups says how far it is.",
    success: success(202, "It has started."),
  },
  handler: (parts) => async (exchange, caller) => {
    await readBody(exchange);
    parts.backups.create(exchange, caller);
    exchange.json(parts.backups.present(), 202);
  },
};

const verifyBackup: Route<Parts> = {
  method: "POST",
  path: "/api/backups/{name}/verify",
  scope: "operator",
  operation: {
    operationId: "verifyBackup",
    tags: ["service"],
    summary:
      "Starts to compare a backup with its checksum and to check its pages. listBackups has the result.",
    parameters: [name],
    success: success(202, "It has started."),
    errors: ["no-such-path"],
  },
  handler: (parts) => async (exchange) => {
    await readBody(exchange);
    parts.backups.verify(exchange.parameter);
    exchange.json(parts.backups.present(), 202);
  },
};

const linkToBackup: Route<Parts> = {
  method: "POST",
  path: "/api/backups/{name}/link",
  scope: "operator",
  operation: {
    operationId: "linkToBackup",
    tags: ["service"],
    summary: "Creates a link by which a browser can download a backup once, within a minute.",
    parameters: [name],
    success: { status: 201, description: "The link.", content: jsonContent("ExportLink") },
    errors: ["no-such-path"],
  },
  handler: (parts) => async (exchange, caller) => {
    await readBody(exchange);
    const isAllowed = parts.gate.watch(exchange.header("authorization"), "operator");
    const secret = parts.backups.createLink(exchange.parameter, caller, isAllowed);
    exchange.json({ url: `/api/backup-files/${secret}` }, 201);
  },
};

const followBackupLink: Route<Parts> = {
  method: "GET",
  path: "/api/backup-files/{secret}",
  scope: "none",
  operation: {
    operationId: "followBackup",
    tags: ["service"],
    summary: "Streams the backup that the link was created for.",
    parameters: [pathParameter("secret", "From the link.")],
    success: {
      status: 200,
      description: "The file.",
      content: { "application/vnd.sqlite3": { schema: { type: "string", format: "binary" } } },
    },
    errors: ["no-such-path"],
  },
  handler: (parts) => (exchange) => {
    // It would use up the link.
    if (exchange.method === "HEAD")
      throw new HttpError("no-such-method", "A link to a backup supports GET alone.", { Allow: "GET" });
    return parts.backups.send(exchange, exchange.parameter);
  },
};

export const backupRoutes = [
  listBackups,
  createBackup,
  verifyBackup,
  linkToBackup,
  followBackupLink,
] as const;
