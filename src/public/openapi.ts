import { catalogue, type ErrorKind, publicKinds, statusOf } from "../http/error-catalogue.ts";
import type { Handler } from "../http/exchange.ts";

const idNote =
  "Any int64, from -9223372036854775808 to 9223372036854775807, kept exactly. It is the idempotency key: " +
  "sending the same plant again is safe, and stores it once.";

const statusMeanings: Readonly<Record<number, string>> = {
  400: "Unexpected error: something is wrong with the plant that was sent; `error` and `message` say what.",
  401: "The credentials are missing or not valid.",
  403: "The token lacks the scope.",
  404: "There is no such path.",
  405: "There is no such method at that path.",
  408: "The body did not arrive in time.",
  413: "The body is over the limit.",
  415: "The body is not plain application/json.",
  429: "The token is over its rate limit.",
  431: "The request's line and headers are over the limit.",
  500: "A fault of the service's own.",
  503: "The plant cannot be stored right now; sending it again is safe.",
};

/** Serves the description. It is made once, when first asked for: only then is the address known. */
export function openapi(url: () => string): Handler {
  let description: string | undefined;
  return (exchange) => {
    description ??= describeApi(url());
    exchange.page("application/json", description);
  };
}

/** The public interface as OpenAPI 3.1.0, for clients that reach it at this address. */
export function describeApi(url: string): string {
  const statuses = [...new Set(publicKinds.map(statusOf))].sort((a, b) => a - b);
  const errors = statuses.map((status) => [
    String(status),
    errorResponse(
      publicKinds.filter((kind) => statusOf(kind) === status),
      status,
    ),
  ]);
  const description = {
    openapi: "3.1.0",
    info: {
      title: "Plant Store",
      version: "1.0.0",
      summary: "A small store for plants.",
      description: "A client creates a plant record by sending a JSON body to one endpoint.",
      license: { name: "MIT", identifier: "MIT" },
    },
    servers: [{ url }],
    security: [{ bearer: [] }],
    tags: [{ name: "plants", description: "The plants in the store." }],
    paths: {
      "/plants": {
        post: {
          operationId: "createPlant",
          tags: ["plants"],
          summary: "Creates a new plant in the store.",
          description:
            "A 200 means that the plant is on disk. A retry is always safe: the same plant is stored once.",
          requestBody: {
            required: true,
            content: {
              "application/json": { schema: ref("schemas", "NewPlant"), examples: newPlantExamples },
            },
          },
          responses: { 200: plantResponse, ...Object.fromEntries(errors) },
        },
      },
    },
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "Authorization: Bearer <ACCESS_TOKEN>" },
      },
      schemas,
      headers: {
        RequestId: {
          description: "Names this exchange; the client's own X-Request-Id where it sent a usable one.",
          schema: { type: "string" },
        },
      },
    },
  };
  return JSON.stringify(description, null, 2);
}

const nameSchema = { type: "string", description: "Name of the plant" };
const tagSchema = { type: "string", description: "Tag that specifies the type of the plant" };

const schemas = {
  Plant: { type: "object", required: ["name"], properties: { name: nameSchema, tag: tagSchema } },
  NewPlant: {
    allOf: [
      { $ref: "#/components/schemas/Plant" },
      {
        type: "object",
        required: ["id"],
        properties: {
          id: {
            type: "integer",
            format: "int64",
            description: `Identification number of the plant. Supplied by the client. ${idNote}`,
          },
        },
      },
    ],
  },
  Error: {
    type: "object",
    required: ["error", "message"],
    properties: {
      error: {
        type: "integer",
        format: "int32",
        description: "The HTTP status × 100, plus a number that names the case.",
      },
      message: { type: "string", description: "What was wrong, where, and what was expected." },
    },
  },
} as const;

const newPlantExamples = {
  tagged: { summary: "With a tag", value: { id: 1, name: "Fern", tag: "indoor" } },
  untagged: { summary: "Without a tag", value: { id: 2, name: "Oak" } },
};

const requestIdHeader = { "X-Request-Id": { $ref: "#/components/headers/RequestId" } };

const plantResponse = {
  description: "Plant response: the plant is on disk.",
  headers: {
    ...requestIdHeader,
    "Idempotent-Replayed": {
      description: "`true` where the same plant was stored before.",
      schema: { type: "string", enum: ["true"] },
    },
  },
  content: {
    "application/json": {
      schema: ref("schemas", "Plant"),
      examples: {
        tagged: { summary: "With a tag", value: { name: "Fern", tag: "indoor" } },
        untagged: { summary: "Without a tag", value: { name: "Oak" } },
      },
    },
  },
};

function errorResponse(kinds: readonly ErrorKind[], status: number) {
  const examples = kinds.map((kind) => {
    const { error, when, example } = catalogue[kind];
    return [kind, { summary: when, value: { error, message: example } }];
  });
  return {
    description: statusMeanings[status] ?? "An error.",
    headers: { ...requestIdHeader, ...extraHeaders(status) },
    content: {
      "application/json": { schema: ref("schemas", "Error"), examples: Object.fromEntries(examples) },
    },
  };
}

function extraHeaders(status: number) {
  const header = (description: string) => ({ description, schema: { type: "string" } });
  if (status === 401 || status === 403) return { "WWW-Authenticate": header("The challenge of RFC 6750.") };
  if (status === 405) return { Allow: header("The methods that the path takes.") };
  if (status === 429 || status === 503)
    return { "Retry-After": header("Seconds to wait before trying again.") };
  return {};
}

function ref(kind: string, name: string) {
  return { $ref: `#/components/${kind}/${name}` };
}
