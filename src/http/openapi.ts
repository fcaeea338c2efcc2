import { catalogue, type ErrorKind, statusOf } from "./error-catalogue.ts";
import type { Operation, Route } from "./route.ts";

export interface ApiDescription {
  readonly title: string;
  readonly summary: string;
  readonly description: string;
  /** Where clients reach it, without a trailing slash. */
  readonly url: string;
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly bearer: string;
  readonly schemas: Readonly<Record<string, unknown>>;
  /** What a status means, if not the list of its errors. */
  readonly statusDescriptions?: Readonly<Record<number, string>>;
  /** The errors that a route can respond with, its own included. */
  readonly errorsOf: (route: Route<never>) => readonly ErrorKind[];
}

const requestIdHeader = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } };

/** The routes that have an operation, as an OpenAPI 3.1.0 document. */
export function describeRoutes(routes: readonly Route<never>[], api: ApiDescription): string {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const route of routes) {
    if (route.operation === undefined) continue;
    paths[route.path] = {
      ...paths[route.path],
      [route.method.toLowerCase()]: describeOperation(route, route.operation, api),
    };
  }
  const { title, summary, description, url, tags, bearer, schemas } = api;
  const document = {
    openapi: "3.1.0",
    info: { title, version: "1.0.0", summary, description, license: { name: "MIT", identifier: "MIT" } },
    servers: [{ url }],
    security: [{ bearer: [] }],
    tags,
    paths,
    components: {
      securitySchemes: { bearer: { type: "http", scheme: "bearer", description: bearer } },
      schemas: { ...schemas, Error: errorSchema },
      headers: {
        RequestId: {
          description: "Identifies this exchange; the client's own X-Request-Id where it sent a usable one.",
          schema: { type: "string" },
        },
      },
    },
  };
  return JSON.stringify(document, null, 2);
}

/** GET /openapi.json. The document is made on the first request: only then is the address known. */
export function documentRoute(describe: (url: string) => string): Route<{ readonly url: () => string }> {
  return {
    method: "GET",
    path: "/openapi.json",
    scope: "none",
    handler({ url }) {
      let document: string | undefined;
      return (exchange) => {
        document ??= describe(url());
        exchange.respond("application/json", document);
      };
    },
  };
}

export function jsonContent(schema: string, examples?: unknown) {
  const content = { schema: { $ref: `#/components/schemas/${schema}` } };
  return { "application/json": examples === undefined ? content : { ...content, examples } };
}

function describeOperation(route: Route<never>, operation: Operation, api: ApiDescription) {
  const { success, errors: _, ...rest } = operation;
  const { status, headers, ...success200 } = success;
  return {
    ...rest,
    ...(route.scope === "none" ? { security: [] } : {}),
    responses: {
      [status]: { ...success200, headers: { ...requestIdHeader, ...(headers ?? {}) } },
      ...describeErrors(api.errorsOf(route), api.statusDescriptions ?? {}),
    },
  };
}

function describeErrors(kinds: readonly ErrorKind[], descriptions: Readonly<Record<number, string>>) {
  const statuses = [...new Set(kinds.map(statusOf))].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => {
      const own = kinds.filter((kind) => statusOf(kind) === status);
      const examples = own.map((kind) => {
        const { error, when, example } = catalogue[kind];
        return [kind, { summary: when, value: { error, message: example } }];
      });
      const description = descriptions[status] ?? own.map((kind) => catalogue[kind].when).join("; ");
      const headers = { ...requestIdHeader, ...errorHeaders(status) };
      return [status, { description, headers, content: jsonContent("Error", Object.fromEntries(examples)) }];
    }),
  );
}

function errorHeaders(status: number) {
  const header = (description: string) => ({ description, schema: { type: "string" } });
  if (status === 401 || status === 403) return { "WWW-Authenticate": header("The challenge of RFC 6750.") };
  if (status === 405) return { Allow: header("The methods that the path supports.") };
  if (status === 429 || status === 503)
    return { "Retry-After": header("Seconds to wait before trying again.") };
  return {};
}

const errorSchema = {
  type: "object",
  required: ["error", "message"],
  properties: {
    error: {
      type: "integer",
      format: "int32",
      description: "The HTTP status × 100, plus a number that identifies the case.",
    },
    message: { type: "string", description: "What was wrong, where, and what was expected." },
  },
} as const;
