import { catalogue, type ErrorKind, statusOf } from "../http/error-catalogue.ts";
import { type Operation, operations } from "./openapi-operations.ts";
import { schemas } from "./openapi-schemas.ts";

// What every operation that needs a token can answer with, besides its own.
const everywhere: readonly ErrorKind[] = [
  "wrong-parameter",
  "no-credentials",
  "bad-credentials",
  "lacks-scope",
  "wrong-host",
  "internal-error",
  "store-unavailable",
];

const ofBodies: readonly ErrorKind[] = [
  "not-json",
  "not-text",
  "not-an-object",
  "name-repeated",
  "body-too-large",
];

/** The operator's API as OpenAPI 3.1.0, for those who reach it at this address. */
export function describeOperatorApi(url: string): string {
  const paths: Record<string, Record<string, unknown>> = {};
  for (const operation of operations) {
    paths[operation.path] ??= {};
    Object.assign(paths[operation.path] ?? {}, { [operation.method]: described(operation) });
  }
  const description = {
    openapi: "3.1.0",
    info: {
      title: "Plant Store: the operator's side",
      version: "1.0.0",
      summary: "Looking into the store, and its tokens.",
      description: "Ids are decimal strings here, so that no reader rounds them. Times are ISO 8601 in UTC.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url }],
    security: [{ bearer: [] }],
    tags: [
      { name: "plants", description: "What is stored." },
      { name: "tokens", description: "Who may call." },
    ],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "A token with the scope operator." },
      },
      schemas,
    },
  };
  return JSON.stringify(description, null, 2);
}

function described(operation: Operation) {
  const { method: _, path: __, result, errors = [], body, open, ...rest } = operation;
  const kinds = [
    ...(open === true ? (["wrong-host", "internal-error"] as const) : everywhere),
    ...(body === undefined ? [] : ofBodies),
    ...errors,
  ];
  return {
    ...rest,
    ...(open === true ? { security: [] } : {}),
    ...(body === undefined
      ? {}
      : { requestBody: { required: body.required, content: jsonContent(body.schema) } }),
    responses: {
      [result.status]: { description: result.description, content: result.content },
      ...errorResponses(kinds),
    },
  };
}

function errorResponses(kinds: readonly ErrorKind[]) {
  const statuses = [...new Set(kinds.map(statusOf))].sort((a, b) => a - b);
  return Object.fromEntries(
    statuses.map((status) => {
      const own = kinds.filter((kind) => statusOf(kind) === status);
      const examples = own.map((kind) => {
        const { error, when, example } = catalogue[kind];
        return [kind, { summary: when, value: { error, message: example } }];
      });
      const content = {
        "application/json": {
          schema: { $ref: "#/components/schemas/Error" },
          examples: Object.fromEntries(examples),
        },
      };
      return [status, { description: own.map((kind) => catalogue[kind].when).join("; "), content }];
    }),
  );
}

function jsonContent(schema: string) {
  return { "application/json": { schema: { $ref: `#/components/schemas/${schema}` } } };
}
