import type { ErrorKind } from "../http/error-catalogue.ts";
import { describeRoutes } from "../http/openapi.ts";
import type { Route } from "../http/route.ts";
import { schemas } from "./schemas.ts";

const errorsOfAll: readonly ErrorKind[] = ["wrong-host", "internal-error"];
const errorsWithScope: readonly ErrorKind[] = [
  "wrong-parameter",
  "no-credentials",
  "bad-credentials",
  "lacks-scope",
  "store-unavailable",
  "too-busy",
  "issuer-unavailable",
];
const errorsWithBody: readonly ErrorKind[] = [
  "not-json",
  "not-text",
  "not-an-object",
  "name-repeated",
  "body-too-large",
];

/** The operator API as OpenAPI 3.1.0, for those who reach it at this address. */
export function describeOperatorApi(routes: readonly Route<never>[], url: string): string {
  return describeRoutes(routes, {
    title: "Plant Store: the operator API",
    summary: "Reading the store, and managing its tokens.",
    description: "Ids are decimal strings here, so that no reader rounds them. Times are ISO 8601 in UTC.",
    url,
    tags: [
      { name: "plants", description: "What is stored." },
      { name: "tokens", description: "Who may call." },
      { name: "service", description: "The running service." },
    ],
    bearer:
      "A token with the scope operator. The scope operator:read is enough for everything but tokens, the audit trail, settings and backups.",
    schemas,
    errorsOf: ({ scope, operation }) => [
      ...errorsOfAll,
      ...(scope === "none" ? [] : errorsWithScope),
      ...(operation?.requestBody === undefined ? [] : errorsWithBody),
      ...(operation?.errors ?? []),
    ],
  });
}
