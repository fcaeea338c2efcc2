import { render } from "preact";
import { App } from "./app.tsx";
import { takeSignInResponse } from "./identity-provider.ts";
import { CrashBoundary } from "./parts/crash-boundary.tsx";
import { applyTheme } from "./parts/theme.tsx";
import "./style/tokens.css";
import "./style/base.css";
import "./style/controls.css";
import "./style/frame.css";
import "./style/overview.css";
import "./style/plants.css";
import "./style/detail.css";
import "./style/tables.css";
import "./style/work.css";
import "./style/operate.css";

applyTheme();
const root = document.getElementById("console");
if (root !== null) {
  // The text of the page until its script runs.
  root.replaceChildren();
  render(
    <CrashBoundary>
      <App signInResponse={takeSignInResponse()} />
    </CrashBoundary>,
    root,
  );
}
