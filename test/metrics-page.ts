import { operatorToken, type TestService } from "./harness.ts";

/** The page for Prometheus, as it is. */
export async function metricsText({ operatorUrl }: Pick<TestService, "operatorUrl">): Promise<string> {
  const headers = { Authorization: `Bearer ${operatorToken}` };
  return (await fetch(`${operatorUrl}/metrics`, { headers })).text();
}

/** The value of each line, by its name and labels. */
export async function readMetrics(running: Pick<TestService, "operatorUrl">): Promise<Map<string, number>> {
  const lines = (await metricsText(running)).matchAll(/^([a-z]\S*?(?:\{.*\})?) (\S+)$/gm);
  return new Map([...lines].map(([, name = "", value]) => [name, Number(value)]));
}
