import { HttpError } from "../http/http-error.ts";
import type { Route } from "../http/route.ts";
import { type Exports, exportContent } from "./exports.ts";
import { pathParameter } from "./parameters.ts";

export const followExportLink: Route<{ readonly exports: Exports }> = {
  method: "GET",
  path: "/api/exports/{secret}",
  scope: "none",
  operation: {
    operationId: "followExport",
    tags: ["plants"],
    summary: "Streams the export that the link was created for.",
    parameters: [pathParameter("secret", "From the link.")],
    success: { status: 200, description: "A row for each plant.", content: exportContent },
    errors: ["no-such-path"],
  },
  handler:
    ({ exports }) =>
    (exchange) => {
      // It would use up the link, and there is nothing to say before the rows.
      if (exchange.method === "HEAD")
        throw new HttpError("no-such-method", "A link to an export supports GET alone.", { Allow: "GET" });
      const requested = exports.useLink(exchange.parameter);
      if (requested === undefined)
        throw new HttpError(
          "no-such-path",
          "This link has been used, or has expired after a minute. Request the export again.",
        );
      // For the log: this request has no token of its own.
      exchange.caller = requested.caller;
      return exports.send(exchange, requested);
    },
};
