import { resolve } from "node:path";
import type { FirstToken } from "../access/first-token.ts";
import { isDatabaseUrl, withoutPassword } from "../config/database.ts";
import type { Config } from "../config/read-config.ts";
import type { Service } from "../service.ts";
import { shellQuoted } from "../text/shell.ts";
import { escapeInvisible, formatColumns } from "./terminal.ts";

/** What `serve` prints once the service runs: where everything is, and the first token if one was created. */
export function formatStartup(service: Service, config: Config): string {
  const { publicUrl, operatorUrl, addresses, firstToken, openedLater } = service;
  const database = isDatabaseUrl(config.database)
    ? withoutPassword(config.database)
    : resolve(config.database);
  const rows = [
    ["plants", `${publicUrl}/plants`],
    ["docs", `${publicUrl}/docs`],
    ...(operatorUrl === undefined ? [] : [["console", `${operatorUrl}/`]]),
    ["listening on", addresses.join(" and ")],
    ["data", escapeInvisible(database)],
  ];
  const started = `Plant Store is running. Press Ctrl-C to stop it.\n\n${formatColumns(rows, "  ")}\n\n`;
  if (openedLater !== undefined)
    return `${started}The database is not available yet; see the log. Until it is, plants are refused with 50302.\n\n`;
  return started + formatFirstToken(service, firstToken);
}

/** The first token, and how to send a plant with it; empty if none was created. */
export function formatFirstToken({ publicUrl, operatorUrl }: Service, token: FirstToken | undefined): string {
  if (token === undefined) return "";
  if (token.kind === "not-delivered") return `${token.problem}\n\n`;
  const uses = operatorUrl === undefined ? "send plants" : "send plants and sign in to the console";
  const { note, text, authorization } = whereTokenIs(token);
  return `Your first token can ${uses}.
${note}

  ${text}

Send your first plant:

  curl ${publicUrl}/plants \\
    -H ${authorization} \\
    -H 'Content-Type: application/json' \\
    -d '{"id": 1, "name": "Fern", "tag": "indoor"}'

`;
}

/** Where the token is, or the token itself, and the header for a shell that sends it. */
function whereTokenIs(token: Exclude<FirstToken, { readonly kind: "not-delivered" }>) {
  if (token.kind === "in-file")
    return {
      note: "It is in this file. Delete the file after saving it:",
      text: token.file,
      authorization: `"Authorization: Bearer $(cat ${shellQuoted(token.file)})"`,
    };
  return {
    note: "Save it now; it is not shown again:",
    text: token.secret,
    authorization: `'Authorization: Bearer ${token.secret}'`,
  };
}
