import { render } from "preact";
import { App } from "./app.tsx";
import { ConsoleContext } from "./console.ts";
import { createConsole } from "./create-console.ts";
import { CrashBoundary } from "./parts/crash-boundary.tsx";
import "../style/tokens.css";
import "../style/base.css";
import "./frame.css";
import "./overview/overview.css";
import "./plants/plants.css";
import "./import/import.css";
import "./tokens/tokens.css";
import "./refused/refused.css";
import "./audit/audit.css";
import "./system/system.css";

const root = document.getElementById("console");
if (root !== null) {
  // The text of the page until its script runs.
  root.replaceChildren();
  render(
    <CrashBoundary>
      <ConsoleContext.Provider value={createConsole()}>
        <App />
      </ConsoleContext.Provider>
    </CrashBoundary>,
    root,
  );
}
