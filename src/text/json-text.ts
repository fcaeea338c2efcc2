/** JSON in which every control character is escaped: JSON.stringify leaves U+007F to U+009F, which terminals interpret. */
export function formatJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(/[\x7f-\x9f]/g, escapeCharacter);
}

/** The members of a JSON object; none if the text is not JSON, such as half of one. Other JSON has none that a caller reads. */
export function membersOfJson(text: string): Readonly<Record<string, unknown>> {
  try {
    return Object(JSON.parse(text));
  } catch {
    return {};
  }
}

/** Such characters occur only inside strings, so the text stays valid. */
function escapeCharacter(character: string): string {
  return `\\u00${character.charCodeAt(0).toString(16)}`;
}
