export const string = (description: string) => ({ type: "string", description });
export const time = (description: string) => ({ type: "string", format: "date-time", description });
export const count = (description: string) => ({ type: "integer", description });
export const counts = (description: string) => ({ type: "array", items: { type: "integer" }, description });
export const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` });
export const list = (name: string) => ({ type: "array", items: ref(name) });
export const object = <Properties extends Record<string, unknown>>(
  properties: Properties,
  optional: readonly string[] = [],
) => ({
  type: "object",
  required: Object.keys(properties).filter((name) => !optional.includes(name)),
  properties,
});
/** A request body: a member that is not listed is refused. */
export const closedObject = <Properties extends Record<string, unknown>>(
  properties: Properties,
  optional: readonly string[],
) => ({ ...object(properties, optional), additionalProperties: false });
