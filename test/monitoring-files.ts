import { readFileSync } from "node:fs";
import { join } from "node:path";

const deploy = join(import.meta.dir, "../deploy");

interface Dashboard {
  readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
  readonly annotations: { readonly list: readonly { readonly expr: string }[] };
}

interface Rule {
  readonly alert: string;
  readonly expr: string;
}

/** Every query of the Grafana dashboard. */
export function dashboardQueries(): string[] {
  const dashboard: Dashboard = JSON.parse(readFileSync(join(deploy, "grafana-dashboard.json"), "utf8"));
  return [
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
    ...dashboard.annotations.list.map(({ expr }) => expr),
  ];
}

/** Every alert rule for Prometheus. */
export function alertRules(): Rule[] {
  const file = Bun.YAML.parse(readFileSync(join(deploy, "alerts.yaml"), "utf8"));
  return (file as { groups: { rules: Rule[] }[] }).groups.flatMap(({ rules }) => rules);
}
