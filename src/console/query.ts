/** The values that are not empty, as a query. */
export function queryOf(values: Readonly<Record<string, string | undefined>>): URLSearchParams {
  const entries = Object.entries(values);
  return new URLSearchParams(entries.filter((entry): entry is [string, string] => !!entry[1]));
}

export function withQuery(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === "" ? path : `${path}?${text}`;
}
