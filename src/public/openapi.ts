import { publicKinds } from "../http/error-catalogue.ts";
import { describeRoutes } from "../http/openapi.ts";
import { createPlant } from "./create-plant.ts";

const statusDescriptions: Readonly<Record<number, string>> = {
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
  500: "An internal error.",
  503: "The plant cannot be stored right now; sending it again is safe.",
};

const name = { type: "string", description: "Name of the plant" };
const tag = { type: "string", description: "Tag that specifies the type of the plant" };
const id = {
  type: "integer",
  format: "int64",
  description:
    "Identification number of the plant. Supplied by the client. Any int64, from -9223372036854775808 to " +
    "9223372036854775807, stored exactly. It is the idempotency key: sending the same plant again is safe, and stores " +
    "it once. Generated JavaScript and TypeScript clients use a number for it, which rounds ids beyond 2^53 before they are sent: " +
    "use the client library plant-store/client, which does not.",
};

const schemas = {
  Plant: { type: "object", required: ["name"], properties: { name, tag } },
  NewPlant: {
    allOf: [{ $ref: "#/components/schemas/Plant" }, { type: "object", required: ["id"], properties: { id } }],
  },
};

/** The public interface as OpenAPI 3.1.0, for clients that reach it at this address. It describes `POST /plants` alone. */
export function describeApi(url: string): string {
  return describeRoutes([createPlant], {
    title: "Plant Store",
    summary: "A small store for plants.",
    description: "A client creates a plant record by sending a JSON body to one endpoint.",
    url,
    tags: [{ name: "plants", description: "The plants in the store." }],
    bearer: "Authorization: Bearer <ACCESS_TOKEN>",
    schemas,
    statusDescriptions,
    errorsOf: () => publicKinds,
  });
}
