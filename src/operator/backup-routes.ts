import type { Gate } from "../access/gate.ts";
import { HttpError } from "../http/http-error.ts";
import type { Route } from "../http/route.ts";
import type { Backups } from "./backups.ts";
import { readBody } from "./parameters.ts";

interface Parts {
  readonly backups: Backups;
  readonly gate: Gate;
}

const listBackups: Route<Parts> = {
  method: "GET",
  path: "/api/backups",
  scope: "operator",
  handler: (parts) => (exchange) => exchange.json(parts.backups.present()),
};

const createBackup: Route<Parts> = {
  method: "POST",
  path: "/api/backups",
  scope: "operator",
  handler: (parts) => async (exchange, caller) => {
    await readBody(exchange);
    await parts.backups.create(exchange, caller);
    exchange.json(parts.backups.present(), 202);
  },
};

const verifyBackup: Route<Parts> = {
  method: "POST",
  path: "/api/backups/{name}/verify",
  scope: "operator",
  handler: (parts) => async (exchange, caller) => {
    await readBody(exchange);
    await parts.backups.verify(exchange, caller, exchange.parameter);
    exchange.json(parts.backups.present(), 202);
  },
};

const linkToBackup: Route<Parts> = {
  method: "POST",
  path: "/api/backups/{name}/link",
  scope: "operator",
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
