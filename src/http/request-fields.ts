import type { Fields } from "../telemetry/log.ts";
import { parseTraceparent } from "../telemetry/trace-context.ts";
import type { Exchange } from "./exchange.ts";

const methodCharactersMax = 20;
const pathCharactersMax = 200;
// Any other method is the client's own word; OpenTelemetry calls it _OTHER, so that nobody can make up values.
const knownMethods = new Set([
  "CONNECT",
  "DELETE",
  "GET",
  "HEAD",
  "OPTIONS",
  "PATCH",
  "POST",
  "PUT",
  "TRACE",
]);

/** Identifies the request, in the log and in the caller's trace. */
export function requestIds(exchange: Exchange): Fields {
  const trace = exchange.span?.context ?? parseTraceparent(exchange.header("traceparent"));
  return {
    "plant_store.request_id": exchange.requestId,
    trace_id: trace?.traceId,
    span_id: trace?.spanId,
    trace_flags: trace?.flags,
  };
}

/** Who sent the request, and what it asks for. Without method and path where what arrived was no HTTP request. */
export function requestFields(exchange: Exchange): Fields {
  const { method } = exchange.head ?? {};
  const known = method === undefined || knownMethods.has(method);
  return {
    "client.address": exchange.address,
    "network.peer.address": exchange.peerAddress,
    "plant_store.token": exchange.caller?.name,
    "http.request.method": known ? method : "_OTHER",
    "http.request.method_original": known ? undefined : method.slice(0, methodCharactersMax),
    "url.path": exchange.head && exchange.loggedPath.slice(0, pathCharactersMax),
  };
}
